package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// study is a simulation of gates: 24 rows, all with a tolerance of 5 % and a must_catch of
// 15 %, whose values vary between repetitions by a factor of exp(N(0, sd)), independently.
// In the first row of the first cell the head is worse by regression.
type study struct {
	sd         float64
	head, base int // repetitions
	regression float64
	runs       int
	policy     Policy
}

// figures counts what became of the runs of a study; caught and let count those in which the
// row that is worse regressed and passed.
type figures struct {
	runs, regressed, passed, caught, let int
}

func studyPolicy() Policy {
	p := DefaultPolicy()
	for i := range p.Rows {
		p.Rows[i].Tolerance, p.Rows[i].MustCatch = .05, .15
	}
	return p
}

func (s study) run(seed uint64) figures {
	rng := rand.New(rand.NewPCG(seed, 24))
	noise := func() float64 { return math.Exp(s.sd * rng.NormFloat64()) }
	f := figures{runs: s.runs}
	var rows []Row
	for _, r := range s.policy.Rows {
		rows = append(rows, r.Row)
	}
	for range s.runs {
		var head []CellRun
		bases := map[string]Base{}
		for c := range 4 {
			id := fmt.Sprintf("chat@%d", c)
			run := cellRunOf(rows, id, s.head, func(_ int, _ Row, v float64) float64 { return v * noise() })
			if c == 0 {
				for i := range run.Repetitions {
					worsen(&run.Repetitions[i], Row{TTFT, P95}, s.regression)
				}
			}
			head = append(head, run)
			bases[id] = baseOf(cellRunOf(rows, id, s.base, func(_ int, _ Row, v float64) float64 { return v * noise() }))
		}
		f.add(Decide(s.policy, head, bases))
	}
	return f
}

func (f *figures) add(cells []CellComparison) {
	switch resultOf(cells) {
	case Regressed:
		f.regressed++
	case Passed, Improved:
		f.passed++
	}
	for _, rc := range cells[0].Rows {
		if rc.Row == (Row{TTFT, P95}) {
			switch rc.Result {
			case Regressed:
				f.caught++
			case Passed:
				f.let++
			}
		}
	}
}

func share(n, of int) float64 { return float64(n) / float64(of) }

// TestErrorRatesOfTheDecision holds the decision to what is promised of it, within five
// standard errors of the simulation. The promised figures come from an independent
// simulation.
func TestErrorRatesOfTheDecision(t *testing.T) {
	const runs = 600
	tests := []struct {
		name       string
		head, base int
		regression float64
		of         func(figures) float64
		want       float64
	}{
		{"3 against 3, +15 % is caught", 3, 3, .15, func(f figures) float64 { return share(f.caught, f.runs) }, .195},
		{"3 against 6, +15 % is caught", 3, 6, .15, func(f figures) float64 { return share(f.caught, f.runs) }, .76},
		{"3 against 6, an unchanged build passes", 3, 6, 0, func(f figures) float64 { return share(f.passed, f.runs) }, .99},
	}
	for i, tt := range tests {
		got := tt.of(study{.03, tt.head, tt.base, tt.regression, runs, studyPolicy()}.run(uint64(i)))
		if se := math.Sqrt(tt.want * (1 - tt.want) / runs); math.Abs(got-tt.want) > 5*se {
			t.Errorf("%s: got %.3f, want %.3f +- %.3f", tt.name, got, tt.want, 5*se)
		}
	}
}

// TestUnchangedBuildsHardlyEverFail: at most 1 in 100 unchanged runs regressed,
// however noisy.
func TestUnchangedBuildsHardlyEverFail(t *testing.T) {
	for i, tt := range []struct {
		sd                     float64
		head, base, runs, most int
	}{
		{.03, 6, 3, 1000, 10},
		{.03, 3, 6, 1000, 10},
		{.30, 3, 6, 500, 14}, // 5 are expected at most; 15 or more are seen once in 5000 such tests
	} {
		f := study{tt.sd, tt.head, tt.base, 0, tt.runs, DefaultPolicy()}.run(uint64(100 + i))
		if f.regressed > tt.most {
			t.Errorf("sd %v, %d against %d: %d of %d unchanged runs regressed", tt.sd, tt.head, tt.base, f.regressed, f.runs)
		}
	}
}

// BenchmarkDecision prints the full figures: go test -bench Decision -benchtime 20000x.
func BenchmarkDecision(b *testing.B) {
	for _, s := range []struct {
		head, base int
		regression float64
	}{{3, 3, 0}, {3, 3, .15}, {3, 3, .20}, {3, 6, 0}, {3, 6, .15}, {3, 6, .20}} {
		name := fmt.Sprintf("head=%d/base=%d/regression=%.0f%%", s.head, s.base, s.regression*100)
		b.Run(name, func(b *testing.B) {
			f := study{.03, s.head, s.base, s.regression, b.N, studyPolicy()}.run(7)
			b.ReportMetric(share(f.regressed, f.runs), "failed")
			b.ReportMetric(share(f.passed, f.runs), "passed")
			b.ReportMetric(share(f.caught, f.runs), "row-regressed")
			b.ReportMetric(share(f.let, f.runs), "row-passed")
		})
	}
}
