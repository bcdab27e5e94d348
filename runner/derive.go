package runner

import (
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
	return &rep, nil
}
