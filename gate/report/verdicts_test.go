package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/servegate/servegate/gate"
)

// conditions of the tests' cells: told by all three sources, and some by nobody.
func testEnvelope(arrival string) gate.Envelope {
	e := gate.Envelope{}
	set := func(source gate.Source, fields map[string]any) {
		for path, value := range fields {
			if err := e.Set(path, value, source); err != nil {
				panic(err)
			}
		}
	}
	set(gate.FromEngine, map[string]any{"model.name": "meta-llama/Llama-3.1-8B-Instruct", "model.max_length": 8192, "quantization.kv_cache": "fp8", "cache.prefix_caching": true})
	set(gate.FromHost, map[string]any{"accelerator.model": "NVIDIA H200", "accelerator.count": 2, "accelerator.memory": 150_754_820_096, "accelerator.partitioning": "none"})
	set(gate.FromConfig, map[string]any{
		"quantization.weights": "bf16", "parallel.tp": 2, "parallel.pp": 1, "parallel.dp": 1, "parallel.ep": 1, "serving.form": "collocated",
		"workload.input": "fixed(512)", "workload.output": "fixed(128)", "prompt.source": "ids(10-250)", "prompt.form": "ids", "prompt.ids": "10-250",
		"prompt.digest": "sha256:5f3c", "api": "completions", "arrival": arrival, "streaming.mode": "streamed", "streaming.sampling_unit": "chunk",
		"cache.condition": "cold", "cache.hit_ratio": .25, "sampling.temperature": 0, "sampling.ignore_eos": true, "slo.ttft": .5, "slo.itl": .05,
		"measure.requests": 330, "measure.warmup": 32, "measure.seed": 1, "report.percentiles": "p50,p90,p95,p99",
	})
	e.FillUndeclared()
	return e
}

// testRow is a gating row whose head is base times x, known to within half of width.
func testRow(m gate.Metric, s gate.Statistic, base, x, width float64, result gate.Result) gate.RowComparison {
	d, sign := math.Log(x), 1.0
	if def, _ := gate.Define(m); def.Direction == gate.HigherIsBetter {
		sign = -1
	}
	r := gate.RowComparison{
		Row: gate.Row{Metric: m, Statistic: s}, Gating: true, Result: result,
		Base: ptr(base), Head: ptr(base * x), Change: ptr(x - 1), Low: ptr(x - 1 - width/2), High: ptr(x - 1 + width/2),
		D: ptr(sign * d), SE: ptr(width / 4), DF: ptr(7), P: ptr(.01), PHolm: ptr(.06), BaseN: 6, HeadN: 3,
		Tolerance: .05, MustCatch: .15, Detectable: ptr(.081), BaseValues: []float64{base}, HeadValues: []float64{base * x},
	}
	if s == gate.P99 {
		r.Tolerance, r.MustCatch = .1, .3
	}
	switch m {
	case gate.TTFT:
		r.Floor = .002
	case gate.ITL, gate.TPOT:
		r.Floor = .0002
	}
	return r
}

// testCell has every row that gates by default, unchanged, and an advisory one.
func testCell(id string) gate.CellComparison {
	workload, load, _ := strings.Cut(id, "@")
	still := func(m gate.Metric, s gate.Statistic, base float64) gate.RowComparison {
		return testRow(m, s, base, 1.004, .03, gate.Passed)
	}
	advisory := still(gate.E2E, gate.P95, .812)
	advisory.Gating, advisory.Result, advisory.Tolerance, advisory.MustCatch, advisory.Detectable = false, "", 0, 0, nil
	p99 := gate.RowComparison{Row: gate.Row{Metric: gate.E2E, Statistic: gate.P99}, Why: "withheld: 290 requests, at least 299", BaseN: 6}
	return gate.CellComparison{
		Cell: gate.Cell{ID: id, Workload: workload, Load: load, Streaming: true}, Result: gate.Passed, Envelope: testEnvelope("poisson(6/s)"),
		Rows: []gate.RowComparison{
			still(gate.Goodput, gate.Value, 5.93), still(gate.TTFT, gate.P95, .0121), still(gate.TTFT, gate.P99, .0187),
			still(gate.ITL, gate.P95, .00654), still(gate.ITL, gate.P99, .0101), still(gate.TPOT, gate.P50, .00594), advisory, p99,
		},
		Errors: &gate.ErrorComparison{Base: .0005, Head: .001, BaseFailed: 1, BaseIssued: 1980, HeadFailed: 1, HeadIssued: 990, P: .56, Result: gate.Passed},
		Base:   gate.SideCount{Repetitions: 6, Boots: 2, Samples: 1980}, Head: gate.SideCount{Repetitions: 3, Boots: 3, Samples: 990},
		Outcomes: gate.Counts{Issued: 990, By: map[gate.Outcome]int{gate.OK: 989, gate.Timeout: 1}},
	}
}

// replace puts rows in the place of those of the same name.
func replace(c *gate.CellComparison, rows ...gate.RowComparison) {
	for _, r := range rows {
		for i := range c.Rows {
			if c.Rows[i].Row == r.Row {
				c.Rows[i] = r
			}
		}
	}
}

func testVerdict(result gate.Result, failed bool, cells ...gate.CellComparison) *gate.Verdict {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return &gate.Verdict{
		Schema: gate.VerdictSchema, Tool: gate.Tool{Name: "servegate", Version: "0.1.0"}, At: at, Result: result, Failed: failed,
		Policy: gate.Policy{
			Level: .05, FamilyLevel: .01, ErrorRate: gate.ErrorRatePolicy{Rise: .01, P: .001},
			FailOn: []gate.Result{gate.Regressed, gate.Invalid, gate.NotComparable},
		},
		Head: gate.RunRef{
			ID: "5b1d3c9ae0f24467", Started: at.Add(-time.Hour), Class: "2 x NVIDIA H200, 2 x EPYC 9654 (96 cores)",
			Subject: gate.Subject{Engine: "vllm", Version: "0.11.1", Commit: "9fceb02d0ae598e95dc970b74767f19372d61af8", Image: "registry.example/vllm@sha256:77af4d6b9913e693e8d0b4b294fa62ade6054e6b2f1ffb617ac955dd63fb0182"},
		},
		Base: []gate.RunRef{{
			ID: "0a4f55aa01c2d3e4", Started: at.Add(-48 * time.Hour), Class: "2 x NVIDIA H200, 2 x EPYC 9654 (96 cores)",
			Subject: gate.Subject{Engine: "vllm", Version: "0.11.0", Commit: "e83c5163316f89bfbde7d9ab23ca2e25604af290"},
		}},
		Subject: []gate.Change{
			{Path: "subject.version", Base: "0.11.0", Head: "0.11.1", Expected: true},
			{Path: "subject.command.--max-num-seqs", Base: "256", Head: ""},
		},
		Context:   []gate.Change{{Path: "driver", Base: "570.124.06", Head: "570.133.20"}},
		Cells:     cells,
		Config:    "version: 1\nmodel: meta-llama/Llama-3.1-8B-Instruct\n",
		Reproduce: []string{"servegate gate -c servegate.yaml --subset pull_request"},
		Artifacts: "servegate-run-1 (artifact of the workflow run)",
	}
}

// regression is a verdict on a cell with the given regressed rows.
func regression(reading string, rows ...gate.RowComparison) *gate.Verdict {
	c := testCell("chat@near")
	c.Result, c.Reading = gate.Regressed, reading
	replace(&c, rows...)
	return testVerdict(gate.Regressed, true, c, testCell("rag@c8"))
}

// missing is a cell without rows.
func missing(id string, result gate.Result, reason string) gate.CellComparison {
	return gate.CellComparison{Cell: gate.Cell{ID: id}, Result: result, Reason: reason, Envelope: testEnvelope("closed(8,spread)")}
}

// testVerdicts are the verdicts that have golden files, by name.
func testVerdicts() map[string]*gate.Verdict {
	return map[string]*gate.Verdict{
		"passed": testVerdict(gate.Passed, false, testCell("chat@near")),
		"regressed-prefill": regression("prefill",
			testRow(gate.TTFT, gate.P95, .0121, 1.339, .06, gate.Regressed), testRow(gate.TTFT, gate.P99, .0187, 1.412, .1, gate.Regressed)),
		"regressed-decode": regression("decode",
			testRow(gate.Goodput, gate.Value, 5.93, .88, .02, gate.Regressed), testRow(gate.TPOT, gate.P50, .00594, 1.98, .02, gate.Regressed),
			testRow(gate.ITL, gate.P95, .00654, 1.07, .09, gate.Inconclusive)),
		"regressed-queueing":    regression("queueing", testRow(gate.TTFT, gate.P99, .0187, 4.2, .5, gate.Regressed)),
		"improved":              improved(false),
		"implausible":           improved(true),
		"inconclusive":          unsure(),
		"not-comparable":        incomparable(),
		"no-baseline":           testVerdict(gate.NoBaseline, false, missing("chat@near", gate.NoBaseline, "the store has no record of this cell on this runner class")),
		"invalid":               unmeasured(),
		"absent-cell":           testVerdict(gate.Invalid, true, testCell("chat@near"), gate.CellComparison{Cell: gate.Cell{ID: "rag@c8"}, Result: gate.Invalid, Reason: gate.Absent}),
		"error-rate-regression": failing(),
		"goodput-0":             dead(),
		"across":                across(),
		"40-cells":              forty(),
		"hostile":               hostile("`|</details>\n\n@octocat <!-- servegate:v1 --> [x](https://evil.example) www.evil.example #1 gh-7 \\| ``` <img src=x> \u202edrow\x1b[31m &amp; **b** _i_ $x$"),
		"empty":                 testVerdict(gate.Invalid, true),
	}
}

func improved(implausible bool) *gate.Verdict {
	c := testCell("chat@near")
	c.Result = gate.Improved
	r := testRow(gate.TTFT, gate.P95, .0121, .9, .04, gate.Improved)
	if implausible {
		r = testRow(gate.TTFT, gate.P95, .0121, .55, .04, gate.Improved)
		r.Implausible = true
	}
	replace(&c, r)
	return testVerdict(gate.Improved, false, c)
}

func unsure() *gate.Verdict {
	c := testCell("chat@near")
	c.Result = gate.Inconclusive
	one := testRow(gate.ITL, gate.P99, .0101, .97, .4, gate.Inconclusive)
	one.Low, one.High, one.SE, one.DF, one.Detectable, one.BaseN, one.Why = nil, nil, nil, nil, nil, 1, "one repetition of the base: no interval"
	replace(&c, testRow(gate.TTFT, gate.P95, .0121, .98, .5, gate.Inconclusive), one)
	c.Base, c.Notes = gate.SideCount{Repetitions: 6, Boots: 1, Samples: 1980}, []string{"one boot: the baseline doesn't know how boots differ"}
	return testVerdict(gate.Inconclusive, false, c)
}

func incomparable() *gate.Verdict {
	c := missing("chat@near", gate.NotComparable, "no baseline has this envelope")
	base := testEnvelope("poisson(6/s)")
	base["parallel.tp"] = gate.Field{Value: int64(1), Source: gate.FromEngine}
	base["model.revision"] = gate.Field{Value: "0e9e39f", Source: gate.FromConfig}
	delete(base, "cache.hit_ratio")
	c.Differs = gate.Diff(base, c.Envelope)
	return testVerdict(gate.NotComparable, true, c, testCell("rag@c8"))
}

func unmeasured() *gate.Verdict {
	c := missing("chat@near", gate.Invalid, "two repetitions are invalid")
	c.Invalid = []string{"repetition 1: the client was late: p99 of send lag is 7.120 ms", "repetition 2: the GPU throttled for heat"}
	c.Outcomes = gate.Counts{Issued: 660, By: map[gate.Outcome]int{gate.OK: 640, gate.HTTP5xx: 12, gate.Rejected: 8}}
	v := testVerdict(gate.Invalid, true, c)
	v.Warnings = []string{"record 2026-01 is broken and was skipped"}
	return v
}

func failing() *gate.Verdict {
	c := testCell("chat@near")
	c.Result = gate.Regressed
	c.Errors = &gate.ErrorComparison{Base: .0005, Head: .0525, BaseFailed: 1, BaseIssued: 1980, HeadFailed: 52, HeadIssued: 990, P: 3.1e-22, Result: gate.Regressed}
	c.Outcomes = gate.Counts{Issued: 990, By: map[gate.Outcome]int{gate.OK: 938, gate.Timeout: 40, gate.InBandError: 12}}
	return testVerdict(gate.Regressed, true, c)
}

// dead is a goodput of 0 on one side: regressed in the head, advisory in the base.
func dead() *gate.Verdict {
	head, base := testCell("chat@near"), testCell("rag@c8")
	head.Result = gate.Regressed
	r := testRow(gate.Goodput, gate.Value, 5.93, 0, 0, gate.Regressed)
	r.D, r.Low, r.High, r.SE, r.DF, r.P, r.PHolm, r.Detectable, r.Why = nil, nil, nil, nil, nil, nil, nil, nil, "no request of a repetition keeps the SLO"
	replace(&head, r)
	never := gate.RowComparison{Row: r.Row, Base: ptr(0), Head: ptr(0), BaseN: 6, HeadN: 3, Why: "the SLO is never met"}
	replace(&base, never)
	return testVerdict(gate.Regressed, true, head, base)
}

func across() *gate.Verdict {
	v := testVerdict(gate.Passed, false, testCell("chat@near"))
	v.ComparedAcross = []gate.Difference{{Path: "parallel.tp", A: gate.Field{Value: int64(1), Source: gate.FromEngine}, B: gate.Field{Value: int64(2), Source: gate.FromEngine}}}
	v.Subject, v.Context = nil, nil
	return v
}

func forty() *gate.Verdict {
	var cells []gate.CellComparison
	for i := range 40 {
		c := testCell(fmt.Sprintf("chat@rate%02d", i))
		c.Envelope = testEnvelope(fmt.Sprintf("poisson(%d/s)", i+1))
		if i%8 == 3 {
			c.Result, c.Reading = gate.Regressed, "prefill"
			replace(&c, testRow(gate.TTFT, gate.P95, .0121, 1.2+float64(i)/100, .06, gate.Regressed))
		}
		cells = append(cells, c)
	}
	return testVerdict(gate.Regressed, true, cells...)
}

// hostile is a verdict in which s stands wherever a string from outside may stand.
func hostile(s string) *gate.Verdict {
	c := testCell(s)
	c.Result, c.Reading, c.Reason = gate.Regressed, s, s
	r := testRow(gate.TTFT, gate.P95, .0121, 1.339, .06, gate.Regressed)
	r.Why = s
	replace(&c, r)
	odd := testRow(gate.Metric(s), gate.Statistic(s), 1, 1, .1, gate.Result(s))
	advisory := odd
	advisory.Gating, advisory.Why = false, s
	c.Rows = append(c.Rows, odd, advisory)
	c.Envelope["model.name"] = gate.Field{Value: s, Source: gate.FromEngine}
	c.Envelope["zz"+s] = gate.Field{Value: s, Source: gate.Source(s)}
	c.Envelope["model.zz"+s] = gate.Field{Source: gate.Undeclared}
	c.Differs = []gate.Difference{{Path: s, A: gate.Field{Value: s, Source: gate.Source(s)}}}
	c.Invalid, c.Notes = []string{s}, []string{s}
	other := missing(s+s, gate.NotComparable, s)
	other.Differs = c.Differs
	v := testVerdict(gate.Regressed, true, c, other, missing("x", gate.Result(s), s))
	v.Policy.FailOn = append(v.Policy.FailOn, gate.Result(s))
	subject := gate.Subject{Engine: s, Version: s, Commit: s, Image: s, URL: s}
	v.Head, v.Base = gate.RunRef{ID: s, Class: s, Subject: subject}, []gate.RunRef{{ID: s, Class: s, Subject: subject}}
	v.Subject, v.Context = []gate.Change{{Path: s, Base: s, Head: s}}, []gate.Change{{Path: s, Base: s, Head: s}}
	v.ComparedAcross = c.Differs
	v.Tool, v.Warnings, v.Config, v.Reproduce, v.Artifacts = gate.Tool{Name: s, Version: s}, []string{s}, s, []string{s}, s
	return v
}
