package baselines_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/servegate/baselines"
	"github.com/servegate/servegate/baselines/storetest"
	"github.com/servegate/servegate/gate"
)

func TestCheck(t *testing.T) {
	one := func(change ...func(*baselines.Record)) []baselines.Entry {
		return []baselines.Entry{storetest.Record(t, 1, change...)}
	}
	for _, test := range []struct {
		name    string
		entries []baselines.Entry
		limits  baselines.Limits
		after   time.Duration // of the first record
		want    string        // parts of what is said, by "|"
	}{
		{"young", one(), baselines.Limits{}, 30 * day, ""},
		{"old", one(), baselines.Limits{}, 30*day + time.Hour, "chat@near on 1 x H100 / EPYC / 96 cores: the newest baseline is 30.0 days old"},
		{"old, and a young one", append(one(), storetest.Record(t, 2, later(day))), baselines.Limits{}, 31 * day, ""},
		{"old, and a young one that isn't promoted", append(one(), storetest.Record(t, 2, later(day), withResult(gate.Regressed))), baselines.Limits{}, 31 * day, "31.0 days old"},
		{"old, and a young one of another class", append(one(), storetest.Record(t, 2, later(day), class("b"))), baselines.Limits{}, 31 * day, "on 1 x H100 / EPYC / 96 cores: the newest"},
		{"another class isn't looked at", append(one(), storetest.Record(t, 2, later(day), class("b"))), baselines.Limits{Class: "b"}, 31 * day, ""},
		{"one of two cells", append(one(addCell("chat@far")), storetest.Record(t, 2, later(day))), baselines.Limits{}, 31 * day, "chat@far on"},
		{"a cell that isn't looked at", one(), baselines.Limits{Cells: []string{}}, 31 * day, "no cell has a promoted baseline"},
		{"a cell that has none", one(), baselines.Limits{Cells: []string{"chat@far", storetest.Cell}}, day, "chat@far: no promoted baseline"},
		{"never promoted", one(withResult(gate.Invalid)), baselines.Limits{}, day, "chat@near: no promoted baseline"},
		{"no valid repetition", one(invalid), baselines.Limits{}, day, "chat@near: no promoted baseline"},
		{"empty", nil, baselines.Limits{}, day, "no cell has a promoted baseline"},
		{"dated in the future", one(), baselines.Limits{}, -day, "the newest baseline is dated in the future"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.limits.MaxAge = 30 * day
			stale := baselines.Check(test.entries, test.limits, storetest.Start.Add(test.after))
			if test.want == "" && len(stale) > 0 || test.want != "" && (len(stale) != 1 || !strings.Contains(stale[0].String(), test.want)) {
				t.Errorf("got %v, want %q", stale, test.want)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	var entries []baselines.Entry
	for n, changes := range [][]func(*baselines.Record){
		{},                           // run-1: anchored below
		{addCell("chat@far")},        // run-2: the newest of chat@far
		{},                           // run-3: beyond
		{class("b")},                 // run-4: of another class
		{withResult(gate.Regressed)}, // run-5: beyond, among those not promoted
		{},                           // run-6: retracted below, and counted with those
		{},                           // run-7
		{withResult(gate.Invalid)},   // run-8
		{},                           // run-9
	} {
		entries = append(entries, storetest.Record(t, n+1, changes...))
	}
	anchor := storetest.Decision(1, "release")
	anchor.Anchor = "v1.2"
	entries = append(entries, storetest.Promotion(t, entries, anchor), storetest.Retraction(t, entries, storetest.Decision(6, "fan")))

	for _, test := range []struct {
		keep int
		want []string
	}{
		{2, []string{"run-3", "run-5"}},
		{3, nil},
		{1, []string{"run-3", "run-5", "run-6", "run-7"}},
		{0, []string{"run-2", "run-3", "run-4", "run-5", "run-6", "run-7", "run-8", "run-9"}},
	} {
		var got []string
		for _, d := range baselines.Prune(entries, test.keep) {
			got = append(got, d.Run)
			if !strings.HasSuffix(d.Name, "-"+d.Run+".json") || !strings.HasPrefix(d.Name, baselines.RecordFolder) {
				t.Errorf("name of %s: got %q", d.Run, d.Name)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("keep %d: got %v, want %v", test.keep, got, test.want)
		}
	}
}
