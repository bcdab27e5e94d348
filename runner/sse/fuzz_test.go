package sse_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reference is the standard's algorithm, word by word and without any care for speed.
func reference(in string) []event {
	in = strings.TrimPrefix(in, "\xef\xbb\xbf")
	in = strings.ReplaceAll(in, "\r\n", "\n")
	in = strings.ReplaceAll(in, "\r", "\n")
	var events []event
	var name string
	var data []string
	dispatch := func(partial bool) {
		if data != nil {
			events = append(events, event{name, strings.Join(data, "\n"), partial})
		}
		name, data = "", nil
	}
	lines := strings.Split(in, "\n")
	for i, line := range lines {
		if line == "" && i < len(lines)-1 {
			dispatch(false)
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		}
	}
	dispatch(true)
	return events
}

// FuzzChunking holds the parser to the reference, and to itself however a stream is cut.
func FuzzChunking(f *testing.F) {
	for i, c := range streams {
		f.Add([]byte(c.in), uint64(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		const limit = 100
		whole, wholeErr := collect(limit, string(in))
		if wholeErr == nil {
			if d := cmp.Diff(reference(string(in)), whole); d != "" {
				t.Fatalf("not as the standard says (-want +got):\n%s", d)
			}
		}
		var bytewise, random []string
		for i := range in {
			bytewise = append(bytewise, string(in[i:i+1]))
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		for rest := string(in); rest != ""; {
			k := rng.IntN(len(rest) + 1) // empty pieces too
			random, rest = append(random, rest[:k]), rest[k:]
		}
		for _, pieces := range [][]string{bytewise, random} {
			got, err := collect(limit, pieces...)
			if d := cmp.Diff(whole, got); d != "" || (err == nil) != (wholeErr == nil) {
				t.Fatalf("%q: error %v, whole: %v; events differ (-whole +cut):\n%s", pieces, err, wholeErr, d)
			}
		}
	})
}
