package engine

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestMaskString(t *testing.T) {
	const secret = `hf_T0p/s3cr+t "key"`
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		secrets []string
		in      string
		want    string
	}{
		{"value", []string{secret}, "token=" + secret + ".", "token=***."},
		{"several times", []string{"abc"}, "abcabc abc", "****** ***"},
		{"query", []string{secret}, "?k=" + url.QueryEscape(secret) + "&x", "?k=***&x"},
		{"path", []string{secret}, "/" + url.PathEscape(secret) + "/x", "/***/x"},
		{"json", []string{secret}, `{"k":` + string(quoted) + `}`, `{"k":"***"}`},
		{"one character", []string{"x"}, "axb", "a***b"},
		{"empty", []string{""}, "text", "text"},
		{"none", nil, "text", "text"},
		{"overlapping secrets leave no half behind", []string{"abcdef", "defghi"}, "-abcdefghi-", "-***-"},
		{"overlapping itself", []string{"aaa"}, "baaaaab", "b***b"},
		{"one within another", []string{"abc", "xabcx"}, "xabcx abc", "*** ***"},
		{"lines of a key", []string{"BEGIN KEY\nMIIEpA\n}\n"}, "read MIIEpA from } BEGIN KEY", "read *** from } ***"},
		{"short secrets have no encodings", []string{"a/b"}, "a%2Fb", "a%2Fb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewMask(tt.secrets...).String(tt.in); got != tt.want {
				t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// A basic authorization header holds the secret in the middle of something longer.
func TestMaskBase64AtEveryOffset(t *testing.T) {
	const secret = "hf_S3cretValue"
	m := NewMask(secret)
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
		for before := range 5 {
			for after := range 5 {
				text := strings.Repeat("u", before) + secret + strings.Repeat("\xff", after)
				in := enc.EncodeToString([]byte(text))
				got := m.String(in)
				// What may be left are characters that hold bits of the neighbours.
				left, err := base64.RawStdEncoding.DecodeString(strings.Split(got, masked)[0])
				if !strings.Contains(got, masked) {
					t.Errorf("%d bytes before, %d after: %q is not masked", before, after, in)
				}
				if err == nil && strings.Contains(string(left), secret[:2]) {
					t.Errorf("%d bytes before, %d after: %q shows the secret's begin", before, after, got)
				}
			}
		}
	}
}

func TestNilMask(t *testing.T) {
	var m *Mask
	if got := m.String("text"); got != "text" {
		t.Errorf("got %q, want the text", got)
	}
}

// However a text is cut into writes, a log shows what masking it whole does.
func FuzzLogMasksAcrossWrites(f *testing.F) {
	f.Add("say hunter2 loud\nhunter2\r\nhunt", uint8(3))
	f.Add("hunterhunter2er2\n\n\rx", uint8(1))
	f.Add("a\r\rb\r\n\r\nc", uint8(2))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		m := NewMask("hunter2")
		whole, pieces := &memoryFile{}, &memoryFile{}
		writeLog(t, whole, m, text, len(text))
		writeLog(t, pieces, m, text, int(size))
		if whole.String() != pieces.String() {
			t.Errorf("in one write %q, in pieces of %d %q", whole, size, pieces)
		}
		if strings.Contains(whole.String(), "hunter2") {
			t.Errorf("log shows the secret: %q", whole)
		}
	})
}

func writeLog(t *testing.T, f *memoryFile, m *Mask, text string, size int) {
	t.Helper()
	l := NewLog(f, 0, 0, m)
	for size = max(1, size); len(text) > 0; {
		n, err := l.Write([]byte(text[:min(size, len(text))]))
		if err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
