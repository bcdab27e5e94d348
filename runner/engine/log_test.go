package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memoryFile is a LogFile in memory. A limit makes it a disk that gets full.
type memoryFile struct {
	b     []byte
	limit int // 0: none
}

func (f *memoryFile) String() string { return string(f.b) }

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	end := int(off) + len(p)
	if f.limit > 0 && end > f.limit {
		return 0, syscall.ENOSPC
	}
	f.b = append(f.b, make([]byte, max(0, end-len(f.b)))...)
	return copy(f.b[off:], p), nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.b = f.b[:size]
	return nil
}

func TestLogLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	tests := []struct {
		name   string
		writes []string
		want   string
	}{
		{"whole lines", []string{"a\nb\n"}, "a\nb\n"},
		{"unfinished line", []string{"a\nb"}, "a\nb\n"},
		{"line in pieces", []string{"a", "b", "c\n"}, "abc\n"},
		{"blank lines stay", []string{"a\n\n\nb\n"}, "a\n\n\nb\n"},
		{"carriage returns end lines", []string{"10%\r20%\r", "30%\n"}, "10%\n20%\n30%\n"},
		{"both are one end", []string{"a\r\nb\r", "\nc\r\n"}, "a\nb\nc\n"},
		{"secret", []string{"key hunter2!\n"}, "key ***!\n"},
		{"secret over two writes", []string{"key hun", "ter2!\n"}, "key ***!\n"},
		{"secret over a write that ends a line", []string{"x\nhunt", "er2\nhunter2"}, "x\n***\n***\n"},
		{"line of the greatest length", []string{long + "\n"}, long + "\n"},
		{"long line", []string{long + "yy\nnext\n"}, long + " [line cut]\nnext\n"},
		{"endless line", []string{long, long, long, "\nnext\n"}, long + " [line cut]\nnext\n"},
		{"secret across the cut", []string{long[3:] + "hunter2zzz", "zzz\n"}, long[3:] + "*** [line cut]\n"},
		{"secret behind the cut", []string{long + "yhunter2\n"}, long + " [line cut]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &memoryFile{}
			l := NewLog(f, 0, 0, NewMask("hunter2"))
			for _, w := range tt.writes {
				if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, f.String()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLogKeepsTheEndBeyondItsLimit(t *testing.T) {
	f := &memoryFile{}
	l := NewLog(f, 0, 10<<10, nil)
	const n = 50_000
	for i := range n {
		fmt.Fprintf(l, "line %d\n", i)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got, most := len(f.b), 10<<10+tailBytes+1<<10; got > most {
		t.Errorf("the file has %d bytes, want at most %d", got, most)
	}
	lines := strings.Split(strings.TrimSpace(f.String()), "\n")
	if got, want := lines[0], "line 0"; got != want {
		t.Errorf("first line %q, want %q", got, want)
	}
	if got, want := lines[len(lines)-1], fmt.Sprint("line ", n-1); got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
	marks := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "limit is reached") })
	if marks < 0 {
		t.Error("the log doesn't say that something is missing")
	}
	if got, want := l.LastLines(2), []string{fmt.Sprint("line ", n-2), fmt.Sprint("line ", n-1)}; !slices.Equal(got, want) {
		t.Errorf("LastLines(2) = %q, want %q", got, want)
	}
}

// Whoever reads the file of a running engine sees its last lines, limit or not.
func TestLogEndIsWrittenWhileTheEngineRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &memoryFile{}
		l := NewLog(f, 0, 10, nil)
		for i := range 100 {
			fmt.Fprintf(l, "line %d\n", i)
		}
		time.Sleep(2 * tailEvery)
		synctest.Wait()
		if !strings.HasSuffix(f.String(), "line 99\n") {
			t.Errorf("file ends with %q", f.b[max(0, len(f.b)-40):])
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLogOnAFullDisk(t *testing.T) {
	f := &memoryFile{limit: 8}
	l := NewLog(f, 0, 0, nil)
	for i := range 100 {
		if n, err := fmt.Fprintf(l, "line %d\n", i); err != nil || n == 0 {
			t.Fatalf("Write = %d, %v: the engine would be stopped by a full disk", n, err)
		}
	}
	if got, want := l.LastLines(1), []string{"line 99"}; !slices.Equal(got, want) {
		t.Errorf("LastLines = %q, want %q", got, want)
	}
	for _, err := range []error{l.Fault(), l.Close()} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v, want %v", err, syscall.ENOSPC)
		}
	}
}

// What is lost may begin or end within a secret.
func TestLogGap(t *testing.T) {
	f := &memoryFile{}
	l := NewLog(f, 0, 0, NewMask("hunter2"))
	fmt.Fprint(l, "before\nkey hunt")
	l.Gap(1000)
	fmt.Fprint(l, "er2 rest\nafter\n")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := f.String()
	if strings.Contains(got, "hunt") || strings.Contains(got, "er2") {
		t.Errorf("log shows half a secret: %q", got)
	}
	if !strings.HasPrefix(got, "before\n[servegate: 1000 bytes") || !strings.HasSuffix(got, "\nafter\n") {
		t.Errorf("log = %q, want the lines around a note of the loss", got)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.log")
	earlier := "earlier boot\n"
	text := earlier + "one\n\n  \n\x1b[31mred\x1b[0m\tword\x07\n\xff\nlast"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		path   string
		offset int64
		n      int
		want   []string
	}{
		{"all, printable, without blank lines", path, int64(len(earlier)), 10, []string{"one", "red word", "\uFFFD", "last"}},
		{"some", path, int64(len(earlier)), 2, []string{"\uFFFD", "last"}},
		{"earlier ones, too", path, 0, 10, []string{"earlier boot", "one", "red word", "\uFFFD", "last"}},
		{"none", path, 0, 0, []string{}},
		{"nothing written", path, int64(len(text)), 10, nil},
		{"no file", path + "x", 0, 10, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Tail(tt.path, tt.offset, tt.n); !slices.Equal(got, tt.want) {
				t.Errorf("Tail = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTailOfALongLogBeginsWithAWholeLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.log")
	text := strings.Repeat("0123456789abcde\n", 2*tailBytes/16) + "x\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := Tail(path, 0, 1<<20)
	if got[0] != "0123456789abcde" || got[len(got)-1] != "x" {
		t.Errorf("first %q, last %q", got[0], got[len(got)-1])
	}
}

func BenchmarkLogFlood(b *testing.B) {
	chunk := []byte(strings.Repeat(strings.Repeat("flood ", 20)+"\n", 512))
	l := NewLog(&memoryFile{}, 0, 1, NewMask("hf_0123456789abcdefghij", "another-secret-value"))
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = l.Write(chunk)
	}
}
