package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner"
)

// logEvery is how often progress is told where no bar can be drawn.
const logEvery = 10 * time.Second

// progress tells a person how a run goes: a live bar on a terminal, a line now and
// then elsewhere. It writes to stderr only; stdout belongs to the result.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	bar      *progressbar.ProgressBar
	last     time.Time
}

func newProgress(env Env) *progress {
	return &progress{w: env.Stderr, terminal: env.Terminal}
}

// notify takes one event of the run.
func (p *progress) notify(e runner.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case runner.Booting:
		p.line("boot %d: %s", e.Boot, e.Text)
	case runner.Ready:
		p.line("boot %d: ready after %s", e.Boot, e.Spent.Round(time.Millisecond))
	case runner.Measuring:
		p.line("%s repetition %d", e.Cell, e.Index)
		p.last = time.Now()
	case runner.Progress:
		p.tick(e)
	case runner.Measured:
		p.line("%s repetition %d: %s", e.Cell, e.Index, outcomeLine(e.Repetition))
	case runner.Stopping:
		p.line("boot %d: stopping the engine", e.Boot)
	case runner.Warning:
		p.line("warning: %s", e.Text)
	}
}

// line ends a bar that is drawn and writes one line.
func (p *progress) line(format string, args ...any) {
	if p.bar != nil {
		_ = p.bar.Clear() // a bar that can't be cleared costs a tidy screen, no more
		p.bar = nil
	}
	fmt.Fprintf(p.w, "servegate: "+format+"\n", args...)
}

// tick moves the bar, or writes a line if the last one is long ago.
func (p *progress) tick(e runner.Event) {
	done, want := int64(e.Done), int64(e.Want)
	if want == 0 {
		done, want = int64(e.Spent.Seconds()), int64(e.Of.Seconds())
	}
	label := fmt.Sprintf("%s repetition %d, %s", e.Cell, e.Index, e.Phase)
	if p.terminal {
		if p.bar == nil {
			p.bar = progressbar.NewOptions64(max(want, 1), progressbar.OptionSetWriter(p.w), progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true))
		}
		p.bar.Describe(label)
		_ = p.bar.Set64(min(done, max(want, 1)))
		return
	}
	if time.Since(p.last) >= logEvery {
		p.last = time.Now()
		p.line("%s: %d of %d", label, done, want)
	}
}

// outcomeLine says in one line what a repetition brought.
func outcomeLine(r *gate.Repetition) string {
	if r == nil {
		return "no result"
	}
	if !r.Valid {
		return "INVALID: " + strings.Join(r.InvalidReasons, "; ")
	}
	text := fmt.Sprintf("%d of %d requests ok in %.1f s", r.Requests.By[gate.OK], r.Requests.Issued, r.WindowS)
	if g := r.Metrics[gate.Goodput].Value; g != nil {
		text += fmt.Sprintf(", goodput %.2f requests/s", *g)
	}
	return text
}
