package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/servegate/runner/engine"
	"github.com/servegate/servegate/runner/engine/enginetest"
)

// shell returns a launcher of a shell script that gets the port as $0.
func shell(script string) Launcher {
	return Launcher{
		Command:    []string{"/bin/sh", "-c", script, "{port}"},
		Grace:      enginetest.Grace,
		Supervisor: []string{self(), superviseArg},
	}
}

// launch starts an engine in this process, and stops it at the test's end.
func launch(t *testing.T, l Launcher) *handle {
	t.Helper()
	h, err := l.Launch(t.Context())
	if err != nil {
		t.Fatalf("Launch: %v", err)
	}
	t.Cleanup(func() {
		if err := h.Stop(context.Background()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return h.(*handle)
}

// runToEnd launches an engine that ends by itself, and returns its log and its exit.
func runToEnd(t *testing.T, l Launcher) (string, engine.Exit) {
	t.Helper()
	if l.LogPath == "" {
		l.LogPath = filepath.Join(t.TempDir(), "logs", "engine.log")
	}
	h, err := l.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Life().Done():
	case <-time.After(time.Minute):
		t.Error("the engine doesn't end")
	}
	if err := h.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(l.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	return string(log), h.Life().Exit()
}

func TestLaunchFailures(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o644)
	text := write("text", "not a program\n", 0o755)
	noInterpreter := write("no-interpreter", "#!/no/such/interpreter\n", 0o755)
	port := "--port={port}"
	tests := []struct {
		name     string
		launcher Launcher
		is       error // may be nil
		says     []string
		hint     string
	}{
		{"no command", Launcher{}, nil, []string{"no command"}, "give it a command"},
		{"no port", Launcher{Command: []string{"vllm"}}, nil, []string{"no {port}"}, "--port {port}"},
		{"no model", Launcher{Command: []string{"vllm", "{model}", port}}, nil, []string{"{model}"}, "name the model"},
		{"not in PATH", Launcher{Command: []string{"no-such-engine", port}}, fs.ErrNotExist, []string{`find program "no-such-engine"`, "PATH ("}, "install the engine"},
		{"no such file", Launcher{Command: []string{dir + "/none", port}}, fs.ErrNotExist, []string{dir + "/none", "no such file"}, "check the path"},
		{"not executable", Launcher{Command: []string{plain, port}}, fs.ErrPermission, []string{plain, "not executable"}, "chmod +x"},
		{"a folder", Launcher{Command: []string{dir, port}}, fs.ErrPermission, []string{"it is a folder"}, "name the program"},
		{"no program", Launcher{Command: []string{text, port}}, syscall.ENOEXEC, []string{text, "exec format error"}, "#! line"},
		{"no interpreter", Launcher{Command: []string{noInterpreter, port}}, fs.ErrNotExist, []string{noInterpreter}, "interpreter"},
		{"no working directory", Launcher{Command: []string{"sh", port}, Dir: dir + "/none"}, fs.ErrNotExist, []string{"use working directory"}, "make it"},
		{"working directory is a file", Launcher{Command: []string{"sh", port}, Dir: plain}, nil, []string{"not a folder"}, "folder"},
		{"relative to the working directory", Launcher{Command: []string{"bin/none", port}, Dir: dir}, fs.ErrNotExist, []string{dir + "/bin/none"}, "working directory"},
		{"log in a file's place", Launcher{Command: []string{"sh", port}, LogPath: plain + "/engine.log"}, syscall.ENOTDIR, []string{"create engine log"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.launcher.Supervisor = []string{self(), superviseArg}
			h, err := tt.launcher.Launch(t.Context())
			if err == nil {
				_ = h.Stop(t.Context())
				t.Fatal("it was launched")
			}
			var e *engine.LaunchError
			if !errors.As(err, &e) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Fatalf("got %v (%T), want a LaunchError that is %v", err, err, tt.is)
			}
			for _, part := range append(tt.says, "launch engine: ") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want %q in it", err, part)
				}
			}
			if !strings.Contains(e.Hint(), tt.hint) {
				t.Errorf("hint %q, want %q in it", e.Hint(), tt.hint)
			}
		})
	}
}

func TestSupervisorThatIsNone(t *testing.T) {
	tests := []struct {
		name       string
		supervisor []string
		says       string
	}{
		{"ends without a word", []string{"/bin/sh", "-c", "exit 1"}, "ended without an answer"},
		{"ends with a word", []string{"/bin/sh", "-c", "echo no such command >&2"}, "(no such command)"},
		{"never answers", []string{"/bin/sleep", "1000"}, context.DeadlineExceeded.Error()},
		{"doesn't exist", []string{"/no/such/supervisor"}, "start supervisor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := shell("sleep 1000")
			l.Supervisor = tt.supervisor
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err := l.Launch(ctx)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q in it", err, tt.says)
			}
		})
	}
}

func TestSuperviseIsNoCommandForHumans(t *testing.T) {
	log, exit := runToEnd(t, shell(`"`+self()+`" `+superviseArg+` 3</dev/null 4>/dev/null 5>/dev/null`))
	if exit.Code != 2 {
		t.Errorf("exit code %d, want 2, log:\n%s", exit.Code, log)
	}
}

func TestPlaceholders(t *testing.T) {
	l := shell(`echo "$0 $1 $2 $3 PORT=$PORT LIT=$LIT"; exit 4`)
	l.Model = "org/model with {port} $(date)"
	l.Command = append(l.Command, "--model={model}:{model}", "a b", "*")
	l.Env = map[string]string{"PORT": "{port}", "LIT": "{other}"}
	log, exit := runToEnd(t, l)
	lines := exit.LastLines
	if len(lines) != 1 || exit.Code != 4 {
		t.Fatalf("exit %+v, log:\n%s", exit, log)
	}
	port, rest, _ := strings.Cut(lines[0], " ")
	want := "--model=" + l.Model + ":" + l.Model + " a b * PORT=" + port + " LIT={other}"
	if rest != want {
		t.Errorf("got %q, want %q", rest, want)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	const token, declared, inConfig = "hf_S3cret/Value+1", "hunter2", "sk-0123456789"
	t.Setenv("HF_TOKEN", token)
	t.Setenv("MY_PW", declared)
	l := shell(`echo "token=$HF_TOKEN pw=$MY_PW key=$API_KEY short=$A_KEY"
printf 'split hunt'; sleep 0.2; echo er2
printf "%s" "$HF_TOKEN" | base64
echo 'hf_S3cret%2FValue%2B1' >&2
printf "no end of line %s" "$HF_TOKEN"
exit 1`)
	l.PassEnv = []string{"HF_TOKEN"} // masked for its name
	l.Secrets = []string{"MY_PW", "NOT_SET"}
	l.Env = map[string]string{"API_KEY": inConfig, "A_KEY": "on"}
	l.Model = declared // into the line that says what is started
	log, exit := runToEnd(t, l)
	for _, text := range append(exit.LastLines, log) {
		for _, secret := range []string{token, declared, inConfig, "aGZfUzNjcmV0", "%2FValue", "hunter2"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q shows %q", text, secret)
			}
		}
	}
	want := []string{"token=*** pw=*** key=*** short=on", "split ***", "no end of line ***"}
	for _, line := range want {
		if !slices.Contains(exit.LastLines, line) {
			t.Errorf("LastLines = %q, want %q among them", exit.LastLines, line)
		}
	}
	if !strings.Contains(log, "not set: NOT_SET") {
		t.Errorf("the log doesn't say that a secret isn't set:\n%s", log)
	}
}

func TestPortTakenStartsOnceMore(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag")
	l := shell(`echo "start on $0"
if [ ! -e "$1" ]; then touch "$1"; echo "bind: address already in use" >&2; exit 1; fi
exec "$2" "$3" "$4" "$0"`)
	args := enginetest.Ready.Args("{port}")
	l.Command = append(l.Command, flag, self(), args[0], args[1])
	l.LogPath = filepath.Join(t.TempDir(), "engine.log")
	h, err := l.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := h.URL()
	if err := engine.AwaitReady(t.Context(), h, engine.Probe{Interval: 10 * time.Millisecond, Timeout: time.Minute}); err != nil {
		t.Error(err)
	}
	if h.URL() == first {
		t.Errorf("URL() = %q both times, want another port", first)
	}
	if err := h.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got := h.Life().LastLines(10); len(got) != 2 || got[1] != "engine boots" {
		t.Errorf("LastLines = %q, want those of the second start only", got)
	}
	log, err := os.ReadFile(l.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "\nstart on "); n != 2 {
		t.Errorf("the log has %d starts, want 2:\n%s", n, log)
	}
}

func TestPortTakenTwiceIsAFailure(t *testing.T) {
	log, exit := runToEnd(t, shell(`echo "start on $0"; echo "OSError: [Errno 98] Address already in use"; exit 1`))
	if exit.Code != 1 || exit.Stopped {
		t.Errorf("exit = %+v, want code 1", exit)
	}
	if n := strings.Count(log, "\nstart on "); n != 2 {
		t.Errorf("the log has %d starts, want 2:\n%s", n, log)
	}
}

func TestLogsOfSeveralBootsStandInOneFile(t *testing.T) {
	l := shell(`echo "from $0"; pwd; exit 5`)
	l.LogPath = filepath.Join(t.TempDir(), "engine.log")
	l.Dir = t.TempDir()
	runToEnd(t, l)
	log, exit := runToEnd(t, l)
	if n := strings.Count(log, "\nfrom "); n != 2 {
		t.Errorf("the log has %d boots, want 2:\n%s", n, log)
	}
	if len(exit.LastLines) != 2 || exit.LastLines[1] != l.Dir {
		t.Errorf("LastLines = %q, want the second boot's, in %s", exit.LastLines, l.Dir)
	}
}

func TestFloodIsBounded(t *testing.T) {
	l := launcher(enginetest.Floods)
	l.LogLimit = 1 << 20
	l.LogPath = filepath.Join(t.TempDir(), "engine.log")
	h := launch(t, l)
	if err := engine.AwaitReady(t.Context(), h, engine.Probe{Interval: 10 * time.Millisecond, Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if err := h.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(l.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	// The write that crosses the limit is kept whole, and the end comes on top.
	if most := int64(l.LogLimit + 2*maxBuffered); info.Size() > most {
		t.Errorf("the log has %d bytes, want at most %d", info.Size(), most)
	}
	if got := h.Life().Exit().LastLines; len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "flood") {
		t.Errorf("LastLines = %q, want the flood's", got)
	}
}

func TestTemporaryLogIsRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	h := launch(t, shell("echo words; exit 6"))
	<-h.Life().Done()
	if err := h.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
	if got := h.Life().LastLines(1); !slices.Equal(got, []string{"words"}) {
		t.Errorf("LastLines = %q, want them kept", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	const n = 20
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		urls = map[string]bool{}
	)
	for range n {
		wg.Go(func() {
			h, err := launcher(enginetest.Ready).Launch(t.Context())
			if err != nil {
				t.Errorf("Launch: %v", err)
				return
			}
			p := engine.Probe{Interval: 20 * time.Millisecond, Timeout: time.Minute}
			if err := engine.AwaitReady(t.Context(), h, p); err != nil {
				t.Error(err)
			}
			mu.Lock()
			urls[h.URL()] = true
			mu.Unlock()
			if err := h.Stop(t.Context()); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
	}
	wg.Wait()
	if len(urls) != n {
		t.Errorf("%d engines had %d URLs", n, len(urls))
	}
}
