package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script answers scrape after scrape: a body, or an error where it begins with "!".
func script(t *testing.T, takes time.Duration, answers ...string) func(context.Context) (Snapshot, error) {
	n := 0
	return func(ctx context.Context) (Snapshot, error) {
		answer := answers[min(n, len(answers)-1)]
		n++
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return Snapshot{}, ctx.Err()
		}
		if message, failed := strings.CutPrefix(answer, "!"); failed {
			return Snapshot{}, errors.New(message)
		}
		s := parsed(t, answer)
		s.At = time.Now()
		return s, nil
	}
}

func record(t *testing.T, r Recorder, length time.Duration) ([]Line, Recording) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	r.Start = time.Now()
	var file bytes.Buffer
	sum, err := r.Run(ctx, &file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []Line
	for decoder := json.NewDecoder(&file); decoder.More(); {
		var line Line
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines, sum
}

func one(name string, value float64) map[string]float64 { return map[string]float64{name: value} }

func TestRecorderSamplesAtItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Recorder{Scrape: script(t, 10*time.Millisecond, "a_total 1", "a_total 2", "a_total 3", "a_total 4")}
		lines, sum := record(t, r, 2500*time.Millisecond)
		want := []Line{
			{T: 0.01, Metrics: one("a_total", 1)},
			{T: 1.01, Metrics: one("a_total", 2)},
			{T: 2.01, Metrics: one("a_total", 3)},
			{T: 2.51, Metrics: one("a_total", 4)}, // the end is bracketed
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Recording{Samples: 4}, sum); diff != "" {
			t.Errorf("recording (-want +got):\n%s", diff)
		}
	})
}

func TestRecorderWritesDownWhatGoesWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Recorder{Scrape: script(t, 0, "a_total 5", "!refused", "a_total 1", "a_total 2"), Interval: 100 * time.Millisecond}
		lines, sum := record(t, r, 250*time.Millisecond)
		fell := "the engine's counter a_total fell from 5 to 1"
		want := []Line{
			{T: 0, Metrics: one("a_total", 5)},
			{T: 0.1, Error: "refused"},
			{T: 0.2, Metrics: one("a_total", 1), Restart: fell},
			{T: 0.25, Metrics: one("a_total", 2)},
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Recording{Samples: 3, Errors: 1, LastError: "refused", Restart: fell}, sum); diff != "" {
			t.Errorf("recording (-want +got):\n%s", diff)
		}
	})
}

func TestRecorderLeavesOutWhatItRanOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Recorder{Scrape: script(t, 1700*time.Millisecond, "a 1")}
		lines, _ := record(t, r, 6*time.Second)
		var got []float64
		for _, line := range lines {
			got = append(got, line.T)
		}
		// A tick that passed during a scrape is made up for at once, but only one. The
		// scrape that the end cut short is left out; the one at the end has a second.
		want := []float64{1.7, 3.4, 5.1, 7}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		if got := lines[len(lines)-1].Error; got != context.DeadlineExceeded.Error() {
			t.Errorf("last line's error is %q, want that of its deadline", got)
		}
	})
}

func TestRecorderOfAnEngineWithoutMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		absent := fmt.Errorf("scrape metrics: %w", ErrNoMetrics)
		r := Recorder{Scrape: func(context.Context) (Snapshot, error) { return Snapshot{}, absent }}
		began := time.Now()
		lines, sum := record(t, r, time.Hour)
		if len(lines) != 1 || lines[0].Error != absent.Error() || !sum.Absent {
			t.Errorf("got %+v, %+v, want one line that says so", lines, sum)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the recorder went on for %s", took)
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestRecorderEndsOnAFullDisk(t *testing.T) {
	r := Recorder{Scrape: script(t, 0, "a 1")}
	_, err := r.Run(t.Context(), fullDisk{})
	if want := "write engine metrics: no space left on device"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestRecordedNumbers(t *testing.T) {
	s := parsed(t, strings.Join([]string{
		`gauge{model="a\"b",engine="0"} 1.5`,
		"plain_total 2",
		`h_bucket{le="1"} 3`, "h_sum 4", "h_count 5", "h_created 6",
		`summary{quantile="0.5"} 7`, "summary_sum 8",
		"nan NaN", "infinite +Inf",
	}, "\n"))
	want := map[string]float64{
		`gauge{model="a\"b",engine="0"}`: 1.5, "plain_total": 2, "h_sum": 4, "h_count": 5, "summary_sum": 8,
	}
	if diff := cmp.Diff(want, s.numbers()); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func BenchmarkScrapeOfVLLM(b *testing.B) {
	body, err := io.ReadAll(answer(b, "vllm-after").Body)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := Parse(textType, bytes.NewReader(body))
		if err != nil || len(s.numbers()) == 0 {
			b.Fatal(err)
		}
	}
}
