package gate

import (
	"slices"
	"time"
)

// typical holds a value for the rows of a repetition that the tests of the decision make.
var typical = map[Row]float64{
	{Goodput, Value}: 6, {GoodRatio, Value}: .98, {RequestThroughput, Value}: 6.1, {TokenGoodput, Value}: 760,
	{TTFT, Mean}: .11, {TTFT, P50}: .1, {TTFT, P90}: .15, {TTFT, P95}: .2, {TTFT, P99}: .3,
	{ITL, Mean}: .021, {ITL, P50}: .02, {ITL, P90}: .022, {ITL, P95}: .025, {ITL, P99}: .04,
	{TPOT, Mean}: .021, {TPOT, P50}: .02, {TPOT, P90}: .022, {TPOT, P95}: .023, {TPOT, P99}: .024,
}

// rowsInOrder are the rows of typical in a fixed order.
var rowsInOrder = func() []Row {
	var rows []Row
	for _, d := range Metrics {
		for _, st := range Statistics {
			if _, ok := typical[Row{d.Metric, st}]; ok {
				rows = append(rows, Row{d.Metric, st})
			}
		}
	}
	return rows
}()

// setRow puts one statistic into rep.
func setRow(rep *Repetition, row Row, v *float64) {
	s := rep.Metrics[row.Metric]
	switch row.Statistic {
	case Value:
		s.Value = v
	case Mean:
		s.Mean = v
	case P50:
		s.P50 = v
	case P90:
		s.P90 = v
	case P95:
		s.P95 = v
	case P99:
		s.P99 = v
	case Max:
		s.Max = v
	}
	rep.Metrics[row.Metric] = s
}

// worsen makes the row worse by ratio.
func worsen(rep *Repetition, row Row, ratio float64) {
	d, _ := Define(row.Metric)
	s := rep.Metrics[row.Metric]
	setRow(rep, row, ptr(*s.statistic(row.Statistic)*(1+d.sign()*ratio)))
}

// cellRun makes a cell with n valid repetitions of fresh boots; value gives each row of
// the repetition with an index from 1 its value, from the typical one.
func cellRun(id string, n int, value func(index int, row Row, v float64) float64) CellRun {
	return cellRunOf(rowsInOrder, id, n, value)
}

// cellRunOf is cellRun with some rows only.
func cellRunOf(rows []Row, id string, n int, value func(index int, row Row, v float64) float64) CellRun {
	c := CellRun{
		Cell:     Cell{ID: id, Workload: "chat", Load: "near", Streaming: true, FixedOutput: true, SLO: SLO{TTFT: .5}},
		Planned:  n,
		Envelope: Envelope{},
	}
	for i := 1; i <= n; i++ {
		rep := Repetition{
			Facts: Facts{Index: i, Seed: 1, Fresh: true, Boot: i, Start: time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC), Stamps: KernelStamps},
			Valid: true, WindowS: 100,
			Requests: Counts{Issued: 1000, By: map[Outcome]int{OK: 1000}},
			Metrics:  map[Metric]Summary{},
			Observed: Observed{TokensPerChunk: ptr(1)},
		}
		for _, row := range rows {
			d, _ := Define(row.Metric)
			if _, ok := rep.Metrics[row.Metric]; !ok {
				s := Summary{Unit: d.Unit, Definition: d.ID, Distribution: d.Distribution}
				if d.Distribution {
					s.Count = 1000
				}
				rep.Metrics[row.Metric] = s
			}
			setRow(&rep, row, ptr(value(i, row, typical[row])))
		}
		c.Repetitions = append(c.Repetitions, rep)
	}
	return c
}

// baseOf makes a base of the repetitions of c.
func baseOf(c CellRun) Base {
	return Base{Repetitions: c.Repetitions, Boots: boots(c.Repetitions)}
}

// wobble varies the repetitions by about 0.5 %, the same way in each row.
func wobble(i int, _ Row, v float64) float64 {
	return v * []float64{1, 1.005, .995, 1.002, .998, 1.003}[i%6]
}

// decideOne decides over one cell with three repetitions against six after change has had
// its way with both.
func decideOne(p Policy, change func(head *CellRun, base *Base)) CellComparison {
	head, base := cellRun("chat@near", 3, wobble), baseOf(cellRun("chat@near", 6, wobble))
	if change != nil {
		change(&head, &base)
	}
	return Decide(p, []CellRun{head}, map[string]Base{head.ID: base})[0]
}

// rowOf returns a row of c, nil where it has none.
func rowOf(c CellComparison, row Row) *RowComparison {
	i := slices.IndexFunc(c.Rows, func(rc RowComparison) bool { return rc.Row == row })
	if i < 0 {
		return nil
	}
	return &c.Rows[i]
}

// eachOf changes every repetition.
func eachOf(reps []Repetition, f func(*Repetition)) {
	for i := range reps {
		f(&reps[i])
	}
}
