package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servegate/servegate/runner/engine"
)

// DefaultGrace is how long an engine has between being asked to end and being killed.
const DefaultGrace = 10 * time.Second

// Launcher starts an engine as a child process. It may launch several, also at once.
type Launcher struct {
	// Command is the program and its arguments. {model} and {port} are replaced in each,
	// and no shell reads it. A program without a slash is looked for in the engine's PATH.
	Command []string
	Model   string // replaces {model}
	Dir     string // working directory; empty: ours

	// Env is set in the engine's environment, with {model} and {port} replaced: some
	// engines take their port from nowhere else. PassEnv and Secrets name variables that
	// are passed on from ours, beside those that [PassedOn] accepts; names that are not
	// set are left out. The values of Secrets, and of every variable whose name ends as
	// a credential's does (_TOKEN, _KEY, _SECRET, _PASSWORD), are masked in the log and
	// in whatever is returned.
	Env     map[string]string
	PassEnv []string
	Secrets []string

	// LogPath is the file to which the engine's output is appended; its folder is made.
	// Empty: a temporary file, removed once the engine is gone.
	LogPath  string
	LogLimit int64 // bytes of one boot's log that are kept; 0: [engine.DefaultLogLimit]

	// Grace is how long the engine has between being asked to end and being killed.
	// 0: [DefaultGrace]; negative: none.
	Grace time.Duration
	// Supervisor is the command that calls [Supervise].
	// Empty: our own binary with the arguments "engine supervise".
	Supervisor []string
}

const (
	portMark  = "{port}"
	modelMark = "{model}"
)

// Launch starts the engine on a free port of this host. Where the engine dies at once
// because another process took the port meanwhile, it is started once more on another,
// and the handle's URL changes.
func (l Launcher) Launch(ctx context.Context) (engine.Handle, error) {
	if l.Grace == 0 {
		l.Grace = DefaultGrace
	}
	l.Grace = max(0, l.Grace)
	p, err := l.prepare()
	if err != nil {
		return nil, err
	}
	log, err := openLog(l.LogPath)
	if err != nil {
		return nil, &engine.LaunchError{Err: err}
	}
	h := newHandle(l, p, log)
	if err := h.boot(ctx); err != nil {
		log.release()
		return nil, err
	}
	go h.watch()
	return h, nil
}

// prepared is a launcher whose parts have been looked up and found usable.
type prepared struct {
	program string // absolute
	dir     string
	argv    []string // with its placeholders
	env     []string // NAME=value, with its placeholders
	unset   []string // variables that were named and aren't set
	secrets []string // values
	mask    *engine.Mask
}

// prepare checks what can be checked before anything is started.
func (l Launcher) prepare() (*prepared, error) {
	if len(l.Command) == 0 || l.Command[0] == "" {
		return nil, refuse("give it a command", "start engine: no command")
	}
	env, unset, secrets := environment(l, os.Environ())
	if err := l.checkMarks(); err != nil {
		return nil, err
	}
	if l.Dir != "" {
		if err := checkDir(l.Dir); err != nil {
			return nil, err
		}
	}
	program, err := lookProgram(l.expand(0).Replace(l.Command[0]), l.Dir, env)
	if err != nil {
		return nil, err
	}
	return &prepared{
		program: program, dir: l.Dir, argv: l.Command, env: env, unset: unset,
		secrets: secrets, mask: engine.NewMask(secrets...),
	}, nil
}

// checkMarks refuses a command that can't be told where to listen, or what to serve.
func (l Launcher) checkMarks() error {
	all := strings.Join(l.Command, "\n")
	for _, v := range l.Env {
		all += "\n" + v
	}
	if !strings.Contains(all, portMark) {
		return refuse("say where the engine takes its port, for example --port {port}",
			"start engine: the command has no %s", portMark)
	}
	if strings.Contains(all, modelMark) && l.Model == "" {
		return refuse("name the model, or write it into the command",
			"start engine: the command asks for %s, and no model is given", modelMark)
	}
	return nil
}

// expand returns what replaces the placeholders.
func (l Launcher) expand(port int) *strings.Replacer {
	return strings.NewReplacer(modelMark, l.Model, portMark, fmt.Sprint(port))
}

// refuse makes an error with a remedy.
func refuse(remedy, format string, args ...any) error {
	return &engine.LaunchError{Err: fmt.Errorf(format, args...), Remedy: remedy}
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return refuse("make it, or set dir to one that exists", "use working directory %q: %w", dir, cause(err))
	case !info.IsDir():
		return refuse("set dir to a folder", "use working directory %q: it is not a folder", dir)
	}
	return nil
}

// cause strips operation and path from a file error, where the message has them already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// logFile is the log of an engine: where it is, and from where on this boot's stands.
type logFile struct {
	path      string
	offset    int64
	temporary bool
}

func openLog(path string) (*logFile, error) {
	if path == "" {
		f, err := os.CreateTemp("", "servegate-engine-*.log")
		if err != nil {
			return nil, fmt.Errorf("create engine log: %w", err)
		}
		return &logFile{path: f.Name(), temporary: true}, f.Close()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("create engine log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("create engine log: %w", err)
	}
	return &logFile{path: path}, f.Close()
}

// note appends a line of ours, and lets the engine's log begin behind it.
func (l *logFile) note(line string) error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("write engine log: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		return fmt.Errorf("write engine log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("write engine log: %w", err)
	}
	l.offset = info.Size()
	return nil
}

// release removes a temporary log.
func (l *logFile) release() {
	if l.temporary {
		_ = os.Remove(l.path) // it stands in the temporary folder: not worth a failure
	}
}
