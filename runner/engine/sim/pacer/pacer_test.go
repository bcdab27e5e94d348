package pacer

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPacer(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Until(time.Now().Add(-time.Hour)) // a moment that has passed: returns at once
	for range 5 {
		until := time.Now().Add(3 * time.Millisecond)
		p.Until(until)
		if early := time.Until(until); early > 0 {
			t.Errorf("woke up %s early", early)
		}
	}
}

func TestInterrupt(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, s := range map[string]interface {
		Until(time.Time)
		Interrupt()
	}{"pacer": p, "timer": NewTimer()} {
		done := make(chan struct{})
		go func() {
			s.Until(time.Now().Add(time.Hour))
			s.Until(time.Now().Add(time.Hour))
			close(done)
		}()
		time.Sleep(10 * time.Millisecond)
		s.Interrupt()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: still asleep 10 s after the interrupt", name)
		}
	}
}

func TestTimerOnAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begun := NewTimer(), time.Now()
		p.Until(begun.Add(1234 * time.Microsecond))
		if took := time.Since(begun); took != 1234*time.Microsecond {
			t.Errorf("got %s, want 1.234 ms", took)
		}
	})
}

// BenchmarkLateness reports how late sleeps of 5 ms end, in microseconds.
func BenchmarkLateness(b *testing.B) {
	p, err := New()
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	late := time.Duration(0)
	for b.Loop() {
		until := time.Now().Add(5 * time.Millisecond)
		p.Until(until)
		late += time.Since(until)
	}
	b.ReportMetric(float64(late.Microseconds())/float64(b.N), "us-late/op")
}
