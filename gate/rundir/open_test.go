package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/servegate/servegate/gate"
)

func TestOpenRefuses(t *testing.T) {
	dir := finishedRun(t, 1, 100, testCell)
	whole := string(mustRead(t, filepath.Join(dir, runFile)))
	replace := func(old, with string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("run.json holds no %q", old)
		}
		return strings.Replace(whole, old, with, 1)
	}
	cell := whole[strings.Index(whole, `"cells": [`)+len(`"cells": [`) : strings.LastIndex(whole, "]")]
	for _, tt := range []struct{ name, content, want string }{
		{"empty", "", "unexpected end of JSON input"},
		{"cut", whole[:len(whole)/2], "unexpected end of JSON input"},
		{"HTML", "<html>", "invalid character '<'"},
		{"another document", `{"version": 1}`, "it names no schema, this servegate reads servegate.run/v1"},
		{"a newer schema", replace("servegate.run/v1", "servegate.run/v2"), `newer schema "servegate.run/v2": this servegate reads servegate.run/v1`},
		{"a foreign schema", replace("servegate.run/v1", "bench/v1"), `schema "bench/v1": this servegate reads servegate.run/v1`},
		{"text behind", whole + "x", "invalid character 'x' after top-level value"},
		{"a second document", whole + "{}", "invalid character '{' after top-level value"},
		{"an unknown key", replace(`"complete": true`, `"complete": true, "verdict": "passed"`), `unknown field "verdict"`},
		{"a key twice", replace(`"complete": true`, `"complete": true, "complete": false`), `key "complete" is given twice`},
		{"a key twice, in capitals", replace(`"complete": true`, `"complete": true, "Complete": false`), `key "Complete" is given twice`},
		{"NaN", replace(`"window_s": `, `"window_s": NaN, "x": `), "invalid character 'N'"},
		{"infinity", replace(`"window_s": `, `"window_s": 1e999, "x": `), "cannot unmarshal number 1e999"},
		{"a fraction of a boot", replace(`"boot": 1`, `"boot": 1.5`), "cannot unmarshal number 1.5"},
		{"a number as text", replace(`"boot": 1`, `"boot": "1"`), "cannot unmarshal string"},
		{"too deep", replace(`"kernel": "6.8"`, `"kernel": `+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)), "nested more than 32 deep"},
		{"a cell twice", replace(cell, cell+","+cell), `cell "chat@near" is there twice`},
		{"a way out", replace(`"id": "chat@near"`, `"id": "../../etc@near"`), `cell id "../../etc@near"`},
		{"an edited envelope", replace(`"value": "m"`, `"value": "n"`), "its envelope has sha256:"},
		{"an edited fingerprint", replace(`"fingerprint": "sha256:`, `"fingerprint": "sha256:0`), "its envelope has sha256:"},
		{"an unknown envelope path", replace(`"model.name"`, `"model.nickname"`), `envelope "model.nickname": no such field`},
		{"no repetition 0", replace(`"index": 1`, `"index": 0`), "repetition 0: expected an index from 1"},
		{"a huge repetition", replace(`"index": 1`, `"index": 1000000000`), "repetition 1000000000: expected an index from 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, runFile)
			mustWrite(t, path, []byte(tt.content))
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "read "+path) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestOpenBelievesNoCount opens a run whose summary claims a billion requests: nothing
// is made room for, and Verify says what is wrong.
func TestOpenBelievesNoCount(t *testing.T) {
	dir := finishedRun(t, 1, 100, testCell)
	path := filepath.Join(dir, runFile)
	edited := bytes.Replace(mustRead(t, path), []byte(`"issued": 100`), []byte(`"issued": 1000000000`), 1)
	edited = bytes.Replace(edited, []byte(`"ok": 100`), []byte(`"ok": 1000000000`), 1)
	mustWrite(t, path, edited)
	_, err := mustOpen(t, dir).Verify(t.Context())
	for _, want := range []string{"run.json: changed", `chat@near/1: run.json is not what its raw records give`, `\"issued\":1000000000`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Verify: got %v, want %q", err, want)
		}
	}
}

func TestSizeLimit(t *testing.T) {
	dir := finishedRun(t, 1, 100, testCell)
	if err := os.Truncate(filepath.Join(dir, runFile), maxRunSize+1); err != nil { // sparse
		t.Fatal(err)
	}
	_, err := Open(dir)
	if want := "run.json has 268435457 bytes, the limit is 268435456"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open: got %v, want %q", err, want)
	}
}

// TestNoLinksNoDevices puts things in place of files that must not be opened: a FIFO
// would wait forever, a link show what isn't in the directory.
func TestNoLinksNoDevices(t *testing.T) {
	link := func(to string) func(string) error {
		return func(path string) error { return os.Symlink(to, path) }
	}
	for _, tt := range []struct {
		name, file string
		put        func(path string) error
		want       string
	}{
		{"run.json a link", runFile, link("/etc/passwd"), "is a symbolic link"},
		{"run.json a folder", runFile, func(p string) error { return os.Mkdir(p, 0o755) }, "is a folder"},
		{"run.json a FIFO", runFile, func(p string) error { return syscall.Mkfifo(p, 0o644) }, "is a device, pipe or socket"},
		{"manifest a link", manifestFile, link("run.json"), "is a symbolic link"},
		{"records a link", "cells/chat@near/1/requests.jsonl.zst", link("../2/requests.jsonl.zst"), "is a symbolic link"},
		{"records a FIFO", "cells/chat@near/1/requests.jsonl.zst", func(p string) error { return syscall.Mkfifo(p, 0o644) }, "is a device, pipe or socket"},
		{"repetition a link", "cells/chat@near/1", link("2"), "is a symbolic link, expected a folder"},
		{"cell a link", "cells/chat@near", link("/tmp"), "is a symbolic link, expected a folder"},
		{"cells a link", "cells", link("/tmp"), "is a symbolic link, expected a folder"},
		{"log a link", "logs/engine.log", link("/etc/passwd"), "logs/engine.log: is a symbolic link"},
		{"an extra link", "extra", link("/etc/passwd"), "extra: is a symbolic link"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := finishedRun(t, 2, 100, testCell)
			path := filepath.Join(dir, filepath.FromSlash(tt.file))
			if err := errors.Join(os.RemoveAll(path), tt.put(path)); err != nil {
				t.Fatal(err)
			}
			d, err := Open(dir)
			if err == nil {
				_, err = d.Verify(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "root:") {
				t.Errorf("the error shows what the link points to: %v", err)
			}
		})
	}
}

func TestRawRefusesStrangeFolders(t *testing.T) {
	for _, name := range []string{"cells/chat@near/01", "cells/chat@near/x", "cells/chat@near/-1", "cells/nocell/1"} {
		t.Run(name, func(t *testing.T) {
			dir := finishedRun(t, 1, 100, testCell)
			if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if refs, err := mustOpen(t, dir).Raw(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is no repetition", name)) {
				t.Errorf("Raw: got %v, %v, want an error", refs, err)
			}
		})
	}
}

// putRecords replaces the records of a finished run by text, compressed.
func putRecords(t *testing.T, dir string, text []byte, opts ...zstd.EOption) {
	t.Helper()
	enc, err := zstd.NewWriter(nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "cells/chat@near/1/requests.jsonl.zst"), enc.EncodeAll(text, nil))
}

func TestReadRequestsRefuses(t *testing.T) {
	dir := finishedRun(t, 1, 100, testCell)
	line := canonicalRecords[0].line + "\n"
	for _, tt := range []struct {
		name, text string
		limits     func(*limits)
		want       string
		records    int // read before the error
	}{
		{"no record", line + "{}\n" + line, nil, `record 2: key "i" is missing`, 1},
		{"an empty line", line + "\n", nil, "record 2: unexpected EOF", 1},
		{"no end of line", line + line[:len(line)-1], nil, "record 2: the last line has no end", 1},
		{"records", strings.Repeat(line, 4), func(l *limits) { l.records = 3 }, "record 4: more than 3 raw records in one repetition", 3},
		{"arrivals", strings.Repeat(line, 4), func(l *limits) { l.arrivals = 11 }, "record 4: more than 11 arrivals in one repetition", 3},
		{"a long line", line + strings.Repeat(" ", 1<<20), func(l *limits) { l.line = 1 << 19 }, "record 2: a line of more than 524288 bytes", 1},
		{"a long line with an end", line + strings.Repeat(" ", 1<<10) + line, func(l *limits) { l.line = 1 << 10 }, "record 2: a line of more than 1024 bytes", 1},
		{"a bomb", line + strings.Repeat("\n", 64<<20), func(l *limits) { l.bytes = 1 << 20 }, "record 2: ", 1},
		{"a bomb of records", strings.Repeat(line, 10_000), func(l *limits) { l.bytes = 1 << 20 }, "decompresses to more than the limit", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			putRecords(t, dir, []byte(tt.text))
			d := mustOpen(t, dir)
			if tt.limits != nil {
				tt.limits(&d.limits)
			}
			var buf Buffer
			got, err := d.ReadRequests("chat@near", 1, &buf)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error: got %v, want %q", err, tt.want)
			}
			if tt.records >= 0 && len(got) != tt.records {
				t.Errorf("records before it: got %d, want %d", len(got), tt.records)
			}
		})
	}
	t.Run("a huge window", func(t *testing.T) {
		putRecords(t, dir, bytes.Repeat([]byte(line), 200_000), zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false))
		var buf Buffer
		if _, err := mustOpen(t, dir).ReadRequests("chat@near", 1, &buf); !errors.Is(err, zstd.ErrWindowSizeExceeded) {
			t.Errorf("got %v, want %v", err, zstd.ErrWindowSizeExceeded)
		}
	})
	t.Run("no zstd", func(t *testing.T) {
		mustWrite(t, filepath.Join(dir, "cells/chat@near/1/requests.jsonl.zst"), []byte(line))
		var buf Buffer
		if _, err := mustOpen(t, dir).ReadRequests("chat@near", 1, &buf); !errors.Is(err, zstd.ErrMagicMismatch) {
			t.Errorf("got %v, want %v", err, zstd.ErrMagicMismatch)
		}
	})
	for _, ref := range []Ref{{"../../etc", 1}, {"chat@near", 0}, {"chat@near", 2}} {
		var buf Buffer
		if _, err := mustOpen(t, dir).ReadRequests(ref.Cell, ref.Index, &buf); err == nil || !strings.Contains(err.Error(), "read raw records") {
			t.Errorf("%s: got %v, want an error", ref, err)
		}
		for _, err := range mustOpen(t, dir).Requests(ref.Cell, ref.Index) {
			if err == nil {
				t.Errorf("%s: got a record", ref)
			}
		}
	}
}

// TestWriterKeepsTheLimits of the reader.
func TestWriterKeepsTheLimits(t *testing.T) {
	w := newWriter(t)
	rep, err := w.Repetition("chat@near", 1)
	if err != nil {
		t.Fatal(err)
	}
	long := canonicalRecords[2].r
	long.Error = strings.Repeat("x", defaultLimits.line)
	err = rep.Add(&long)
	if want := "a line of more than 16777216 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Add: got %v, want %q", err, want)
	}
	if got := rep.Close(); got == nil || !strings.Contains(got.Error(), err.Error()) {
		t.Errorf("Close after a lost record: got %v, want %v", got, err)
	}
}

// TestRequestsMayBeKept and left early.
func TestRequestsMayBeKept(t *testing.T) {
	dir := finishedRun(t, 1, 100, testCell)
	var kept []gate.Request
	for r, err := range mustOpen(t, dir).Requests("chat@near", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if kept = append(kept, r); len(kept) == 50 {
			break
		}
	}
	got, _ := json.Marshal(kept)
	want, _ := json.Marshal(testRequests(1, 100, 4)[:50])
	if !bytes.Equal(got, want) {
		t.Error("records changed after they were handed out")
	}
}

func FuzzOpen(f *testing.F) {
	dir := finishedRun(f, 1, 3, testCell)
	f.Add(mustRead(f, filepath.Join(dir, runFile)))
	f.Add([]byte(`{"schema":"servegate.run/v1","cells":[{"id":"a@b","repetitions":[{"index":1}]}]}`))
	f.Add([]byte(`{"schema":"servegate.run/v1","cells":null,"context":{"a":"b","A":"c"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := decodeRun(data)
		if err != nil {
			return
		}
		again, err := encodeRun(&run.Run)
		if err != nil {
			t.Fatalf("a run that was read can't be written: %v", err)
		}
		if _, err := decodeRun(again); err != nil {
			t.Fatalf("and what was written can't be read: %v\n%s", err, again)
		}
	})
}
