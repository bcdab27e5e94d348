package attach

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/runner/engine"
)

func TestBaseURL(t *testing.T) {
	tests := []struct{ name, raw, want, wantErr string }{
		{name: "plain", raw: "http://127.0.0.1:8000", want: "http://127.0.0.1:8000"},
		{name: "slash", raw: "http://127.0.0.1:8000/", want: "http://127.0.0.1:8000"},
		{name: "v1", raw: "http://gpu-7:8000/v1", want: "http://gpu-7:8000"},
		{name: "v1 and slashes", raw: " https://Host.example//v1// ", want: "https://host.example"},
		{name: "prefix", raw: "https://host/tenant%2Fa/v1", want: "https://host/tenant%2Fa"},
		{name: "v1 within a word", raw: "https://host/llamav1", want: "https://host/llamav1"},
		{name: "upper-case scheme", raw: "HTTP://host:1", want: "http://host:1"},
		{name: "ipv6", raw: "http://[::1]:8000", want: "http://[::1]:8000"},
		{name: "empty", raw: "", wantErr: "neither http:// nor https://"},
		{name: "no scheme", raw: "localhost:8000", wantErr: "neither http:// nor https://"},
		{name: "no scheme, address", raw: "127.0.0.1:8000", wantErr: "no URL"},
		{name: "other scheme", raw: "grpc://host:1", wantErr: "neither http:// nor https://"},
		{name: "no host", raw: "http:///v1", wantErr: "no host"},
		{name: "port only", raw: "http://:8000", wantErr: "no host"},
		{name: "bad port", raw: "http://host:port", wantErr: "no URL"},
		{name: "query", raw: "http://host/?key=hunter2", wantErr: "query"},
		{name: "credentials", raw: "http://bob:hunter2@host:1", wantErr: "credentials"},
		{name: "credentials, unparsable", raw: "http://bob:hunter2%zz@host:1", wantErr: "no URL"},
		{name: "credentials, no scheme", raw: "bob:hunter2@host:1", wantErr: "neither http://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := BaseURL(tt.raw)
			if tt.wantErr == "" {
				if err != nil || got != tt.want {
					t.Fatalf("BaseURL(%q) = %q, %v, want %q", tt.raw, got, err, tt.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Fatalf("BaseURL(%q) = %q, %v, want an error with %q", tt.raw, got, err, tt.wantErr)
			}
			var hinted interface{ Hint() string }
			if !errors.As(err, &hinted) || hinted.Hint() == "" {
				t.Errorf("error %q has no hint", err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error repeats the password: %v", err)
			}
		})
	}
}

func FuzzBaseURL(f *testing.F) {
	for _, s := range []string{"http://a:1/v1", "https://[::1]/x/v1/", "bob:pw@host", "http://h/v1/v1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		base, err := BaseURL(raw)
		if err != nil {
			return
		}
		if strings.HasSuffix(base, "/") {
			t.Errorf("BaseURL(%q) = %q ends with a slash", raw, base)
		}
		if strings.Contains(strings.TrimPrefix(base, "http"), "@") && !strings.Contains(raw, "/") {
			t.Errorf("BaseURL(%q) = %q has credentials", raw, base)
		}
	})
}

func TestLaunchFindsAndNeverEnds(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			http.NotFound(w, r)
		}
	}))
	defer up.Close()
	h, err := Launcher{URL: up.URL + "/v1/"}.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := h.URL(); got != up.URL {
		t.Errorf("URL() = %q, want %q", got, up.URL)
	}
	if err := engine.AwaitReady(t.Context(), h, engine.Probe{Timeout: time.Minute}); err != nil {
		t.Errorf("AwaitReady: %v", err)
	}
	if err := h.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if h.Life().Ended() || len(h.Life().LastLines(3)) > 0 || h.Life().Exit().Code != 0 {
		t.Error("an attached engine has ended, or has a log")
	}
	if err := engine.AwaitReady(t.Context(), h, engine.Probe{Timeout: time.Minute}); err != nil {
		t.Errorf("AwaitReady after Stop: %v, want the engine untouched", err)
	}
}
