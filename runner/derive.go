package runner

import (
	"fmt"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/gate/rundir"
)

// derive reads the records back and computes the repetition from them: what stands in
// run.json is what the files give, and nothing else.
func (m *measurement) derive() (*gate.Repetition, error) {
	dir, err := rundir.Open(m.session.options.Out.Dir())
	if err != nil {
		return nil, err
	}
	var buf rundir.Buffer
	reqs, err := dir.ReadRequests(m.cell.ID, m.facts.Index, &buf)
	if err != nil {
		return nil, err
	}
	rep := gate.Derive(m.cell.record.Cell, m.facts, reqs)
	if fault := m.curtailed(&rep); fault != "" {
		m.facts.Faults = append(m.facts.Faults, fault)
		rep = gate.Derive(m.cell.record.Cell, m.facts, reqs)
	}
	return &rep, nil
}

// leastWindow is the share of what was to be measured that the window must hold.
const leastWindow = 0.9

// curtailed says that the window of a closed loop holds far less than was measured. It is
// the longest stretch at full concurrency, and so it ends where the client stood still:
// what would have shown that lies outside of it then.
func (m *measurement) curtailed(rep *gate.Repetition) string {
	want := m.session.plan.Measure
	if !m.cell.Load.Closed() || !rep.Valid {
		return ""
	}
	if n := rep.Requests.Issued; float64(n) < leastWindow*float64(want.Requests) {
		return fmt.Sprintf("the client was late: it left streams idle, and only %d of %d requests lie in a stretch at full concurrency", n, want.Requests)
	}
	if whole := want.Duration.Seconds(); rep.WindowS < leastWindow*whole {
		return fmt.Sprintf("the client was late: it left streams idle, and only %.3g of %.3g s lie in a stretch at full concurrency", rep.WindowS, whole)
	}
	return ""
}
