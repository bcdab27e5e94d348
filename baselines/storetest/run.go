package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/baselines"
)

// Place is where one store is, before anything was written to it.
type Place struct {
	// Open returns a new handle on the store: what another process would have.
	Open func() baselines.Store
	// Plant puts a file of that name into the store past its Append, as a fault of the disk
	// or a stranger would; and Planted reads one back.
	Plant   func(name string, data []byte)
	Planted func(name string) []byte
}

// Run holds stores against the contract. Each call of place returns a new place.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p Place)
	}{
		{"a missing store is told from an empty one", testMissing},
		{"what was appended is read back", testAppend},
		{"nothing is replaced", testExists},
		{"an unfit entry is refused", testUnfit},
		{"concurrent writers lose nothing", testConcurrent},
		{"a broken entry is named, skipped and kept", testBroken},
		{"only named records are removed", testRemove},
		{"a cancelled call does nothing", testCancelled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, place(t)) })
	}
}

func testMissing(t *testing.T, p Place) {
	_, err := p.Open().Entries(t.Context())
	if !errors.Is(err, baselines.ErrMissing) {
		t.Errorf("entries of a missing store: got error %v, want one that wraps %q", err, baselines.ErrMissing)
	}
	e := Record(t, 1)
	mustAppend(t, p.Open(), e)
	if err := p.Open().Remove(t.Context(), []string{e.Name()}); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, p)
}

func testAppend(t *testing.T, p Place) {
	records := []baselines.Entry{Record(t, 2), Record(t, 1)}
	event := Retraction(t, records, Decision(1, "the fan was broken"))
	for _, e := range append(records, event) {
		mustAppend(t, p.Open(), e)
	}
	wantEntries(t, p, event, records[1], records[0])
}

func testExists(t *testing.T, p Place) {
	first := Record(t, 1)
	mustAppend(t, p.Open(), first)
	again := Record(t, 1, func(r *baselines.Record) { r.Actor = "someone else" })
	if err := p.Open().Append(t.Context(), again); !errors.Is(err, baselines.ErrExists) {
		t.Errorf("append of a run that is there: got error %v, want one that wraps %q", err, baselines.ErrExists)
	}
	wantEntries(t, p, first)
}

func testUnfit(t *testing.T, p Place) {
	good := Record(t, 1)
	mustAppend(t, p.Open(), good)
	for name, e := range map[string]baselines.Entry{
		"nothing":     {},
		"cut short":   Record(t, 2, func(r *baselines.Record) { r.Run.Complete = false }),
		"a way out":   Record(t, 2, func(r *baselines.Record) { r.Run.ID = "../../run" }),
		"no manifest": Record(t, 2, func(r *baselines.Record) { r.Manifest = "" }),
	} {
		if err := p.Open().Append(t.Context(), e); err == nil {
			t.Errorf("append of an unfit entry (%s): got no error", name)
		}
	}
	wantEntries(t, p, good)
}

func testConcurrent(t *testing.T, p Place) {
	const writers = 20
	var want []baselines.Entry
	for n := range writers {
		want = append(want, Record(t, n+1))
	}
	errs := make([]error, writers)
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() { errs[n] = p.Open().Append(t.Context(), want[n]) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, p, want...)
}

func testBroken(t *testing.T, p Place) {
	good, whole := Record(t, 1), Record(t, 2)
	mustAppend(t, p.Open(), good)
	data, err := baselines.Encode(whole)
	if err != nil {
		t.Fatal(err)
	}
	p.Plant(whole.Name(), data[:len(data)/2])

	got := wantEntries(t, p, good)
	if len(got.Broken) != 1 || got.Broken[0].Name != whole.Name() || got.Broken[0].Err == nil {
		t.Errorf("broken entries: got %v, want %s with an error", got.Broken, whole.Name())
	}
	if err := p.Open().Remove(t.Context(), []string{good.Name(), whole.Name()}); err == nil {
		t.Error("remove of a broken record: got no error")
	}
	wantEntries(t, p, good)
	if kept := p.Planted(whole.Name()); !slices.Equal(kept, data[:len(data)/2]) {
		t.Errorf("the broken file has changed: %d bytes, want %d", len(kept), len(data)/2)
	}
}

func testRemove(t *testing.T, p Place) {
	records := []baselines.Entry{Record(t, 1), Record(t, 2), Record(t, 3)}
	event := Retraction(t, records, Decision(1, "the fan was broken"))
	all := append([]baselines.Entry{event}, records...)
	for _, e := range all {
		mustAppend(t, p.Open(), e)
	}
	for name, names := range map[string][]string{
		"an event":     {records[0].Name(), event.Name()},
		"none there":   {records[0].Name(), Record(t, 9).Name()},
		"another name": {records[0].Name(), "records/../" + records[1].Name()},
		"a folder":     {records[0].Name(), "records"},
		"no name":      {records[0].Name(), ""},
	} {
		if err := p.Open().Remove(t.Context(), names); err == nil {
			t.Errorf("remove of %s: got no error", name)
		}
	}
	wantEntries(t, p, all...)
	if err := p.Open().Remove(t.Context(), []string{records[0].Name(), records[2].Name()}); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, p, event, records[1])
}

func testCancelled(t *testing.T, p Place) {
	good := Record(t, 1)
	mustAppend(t, p.Open(), good)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Open().Entries(ctx)
	for name, err := range map[string]error{
		"append":  p.Open().Append(ctx, Record(t, 2)),
		"entries": err,
		"remove":  p.Open().Remove(ctx, []string{good.Name()}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v, want %v", name, err, context.Canceled)
		}
	}
	wantEntries(t, p, good)
}

func mustAppend(t *testing.T, s baselines.Store, e baselines.Entry) {
	t.Helper()
	if err := s.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// wantEntries holds what the store says against entries, in the order of their names.
func wantEntries(t *testing.T, p Place, want ...baselines.Entry) baselines.Contents {
	t.Helper()
	got, err := p.Open().Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Entries); diff != "" {
		t.Errorf("entries differ (-want +got):\n%s", diff)
	}
	return got
}
