package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestDefaultsAreAValidSmallServer(t *testing.T) {
	o := Defaults()
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	p, err := o.Predict(Group{Streams: 8, Prompt: 256, Output: 12})
	if err != nil {
		t.Fatal(err)
	}
	if step := p.ITL; step < 4500*time.Microsecond || step > 5500*time.Microsecond {
		t.Errorf("step of eight streams: got %s, want about 5 ms", step)
	}
	alone, err := o.Predict(Group{Streams: 1, Prompt: 256, Output: 1})
	if err != nil {
		t.Fatal(err)
	}
	if prefill := alone.TTFT - o.Cost.Base; prefill < 1300*time.Microsecond || prefill > 1700*time.Microsecond {
		t.Errorf("prefill of 256 tokens: got %s, want about 1.5 ms", prefill)
	}
}

// TestFlags sets every flag to something else than its default, and wants every option
// but Log to have changed.
func TestFlags(t *testing.T) {
	o := Defaults()
	fs := pflag.NewFlagSet("sim", pflag.ContinueOnError)
	o.Flags(fs)
	other := map[string]string{"usage": "none", "crash-mode": "deaf", "child": "sleep"}
	fs.VisitAll(func(f *pflag.Flag) {
		v, ok := other[f.Name]
		if !ok {
			switch f.Value.Type() {
			case "bool":
				v = map[string]string{"true": "false", "false": "true"}[f.DefValue]
			case "duration":
				v = "777ms"
			case "float64":
				v = "0.123"
			case "int", "uint64":
				v = "77"
			default:
				v = "other"
			}
		}
		if err := fs.Set(f.Name, v); err != nil {
			t.Errorf("set --%s=%s: %v", f.Name, v, err)
		}
		if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
			t.Errorf("--%s: usage %q, want a phrase without a full stop", f.Name, f.Usage)
		}
	})
	same := unchanged{}
	cmp.Equal(Defaults(), o, cmp.Reporter(&same))
	if diff := cmp.Diff([]string{"Options.Log"}, same.paths); diff != "" {
		t.Errorf("options without a flag (-want +got):\n%s", diff)
	}
}

// unchanged collects the leaves in which two values are equal.
type unchanged struct {
	path  cmp.Path
	paths []string
}

func (u *unchanged) PushStep(s cmp.PathStep) { u.path = append(u.path, s) }
func (u *unchanged) PopStep()                { u.path = u.path[:len(u.path)-1] }
func (u *unchanged) Report(r cmp.Result) {
	if r.Equal() {
		u.paths = append(u.paths, strings.Replace(u.path.GoString(), "{sim.Options}", "Options", 1))
	}
}

func TestCheckFindsEverything(t *testing.T) {
	tests := map[string]func(*Options){
		"model: no name given":                       func(o *Options) { o.Model = "" },
		"port: got 70000":                            func(o *Options) { o.Port = 70000 },
		"acceptance length: got 2, want 1 to 1":      func(o *Options) { o.AcceptanceLength = 2 },
		"noise: got boot -1":                         func(o *Options) { o.Noise.Boot = -1 },
		"batch delay -1ns":                           func(o *Options) { o.BatchDelay = -1 },
		"eos rate: got NaN":                          func(o *Options) { o.EOSRate = math.NaN() },
		`usage: got "often"`:                         func(o *Options) { o.Style.Usage = "often" },
		"max seqs: got 0":                            func(o *Options) { o.Scheduler.MaxSeqs = 0 },
		"prefill slowdown: got 0":                    func(o *Options) { o.Cost.PrefillSlowdown = 0 },
		"throttle: got period":                       func(o *Options) { o.Throttle.Duty = 2 },
		"in-band error rate: got 2":                  func(o *Options) { o.Faults.InBandRate = 2 },
		"fault rates: the sum is 1.2":                func(o *Options) { o.Faults.ErrorRate, o.Faults.TruncatedRate = .6, .6 },
		`crash mode: got "loud"`:                     func(o *Options) { o.Faults.CrashMode = "loud" },
		"crash code: got 256":                        func(o *Options) { o.Faults.CrashCode = 256 },
		"times and counts cannot be negative":        func(o *Options) { o.Faults.HangAfter = -1 },
		"larger than the 64 tokens that 4 KV blocks": func(o *Options) { o.Scheduler.Blocks = 4 },
		"which needs chunked prefill":                func(o *Options) { o.Scheduler.ChunkedPrefill, o.Scheduler.MaxBatchedTokens = false, 100 },
	}
	for want, spoil := range tests {
		o := Defaults()
		spoil(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestPredictRefuses(t *testing.T) {
	o := Defaults()
	drafts := Defaults()
	drafts.Scheduler.DraftTokens = 1
	for name, err := range map[string]error{
		"no stream":     predictError(o, Group{Prompt: 1, Output: 1}),
		"all cached":    predictError(o, Group{Streams: 1, Prompt: 16, Cached: 16, Output: 1}),
		"too long":      predictError(o, Group{Streams: 1, Prompt: 8192, Output: 1}),
		"not one step":  predictError(o, Group{Streams: 2, Prompt: 5000, Output: 1}),
		"not in memory": predictError(o, Group{Streams: 16, Prompt: 400, Output: 7000}),
		"drafts":        predictError(drafts, Group{Streams: 1, Prompt: 1, Output: 1}),
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func predictError(o Options, g Group) error {
	_, err := o.Predict(g)
	return err
}

func TestAcceptance(t *testing.T) {
	for _, tt := range []struct {
		mean   float64
		drafts int
	}{{1, 3}, {1.5, 1}, {2.5, 3}, {4, 3}, {3.3, 7}} {
		p := acceptance(tt.mean, tt.drafts)
		sum := 0.0
		const n = 10_000
		for i := range n {
			b := burst((float64(i)+.5)/n, p, tt.drafts)
			if b < 1 || b > 1+tt.drafts {
				t.Fatalf("got a burst of %d with %d drafts", b, tt.drafts)
			}
			sum += float64(b)
		}
		if got := sum / n; math.Abs(got-tt.mean) > .005 {
			t.Errorf("mean %v with %d drafts: got %v", tt.mean, tt.drafts, got)
		}
	}
}
