package sim

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// logger writes an engine's log lines in vLLM's form. Several goroutines may use it.
type logger struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *logger) info(where, format string, args ...any) {
	l.line(fmt.Sprintf("INFO %s [%s] %s", time.Now().Format("01-02 15:04:05"), where, fmt.Sprintf(format, args...)))
}

// fail writes each line of text as an error.
func (l *logger) fail(where, text string) {
	stamp := time.Now().Format("01-02 15:04:05")
	for line := range strings.Lines(text) {
		l.line(fmt.Sprintf("ERROR %s [%s] %s", stamp, where, strings.TrimRight(line, "\n")))
	}
}

func (l *logger) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A log that can't be written is no reason to stop serving.
	_, _ = io.WriteString(l.w, text+"\n")
}
