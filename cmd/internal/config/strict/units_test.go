package strict

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	tests := []struct {
		text  string
		want  time.Duration
		print string // empty: refused
	}{
		{"500ms", 500 * time.Millisecond, "500ms"},
		{"2s", 2 * time.Second, "2s"},
		{"1m30s", 90 * time.Second, "1m30s"},
		{"90s", 90 * time.Second, "1m30s"},
		{"1.5s", 1500 * time.Millisecond, "1500ms"},
		{"0.2ms", 200 * time.Microsecond, "200us"},
		{"200µs", 200 * time.Microsecond, "200us"},
		{"1ns", 1, "1ns"},
		{"30d", 30 * day, "30d"},
		{"1.5d", 36 * time.Hour, "1d12h"},
		{"25h1s", 25*time.Hour + time.Second, "1d1h1s"},
		{"0s", 0, "0s"},
		{"500", 0, ""},
		{"0", 0, ""},
		{"", 0, ""},
		{"ms", 0, ""},
		{"50 ms", 0, ""},
		{"1week", 0, ""},
		{"-3s", 0, ""},
		{"+3s", 0, ""},
		{"1e3s", 0, ""},
		{"1.s", 0, ""},
		{"99999999999999999999h", 0, ""},
		{"100000d100000d100000d", 0, ""},
		{"9223372036854775807ns1ns", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var d time.Duration
			s := Duration(&d, 0, 10*366*day)
			p := s.Set(tt.text)
			if (p == nil) != (tt.print != "") || d != tt.want {
				t.Fatalf("got %v, %+v, want %v", d, p, tt.want)
			}
			if p != nil {
				return
			}
			if got, _ := s.Text(); got != tt.print {
				t.Errorf("printed: got %s, want %s", got, tt.print)
			}
		})
	}
}

func TestRate(t *testing.T) {
	tests := []struct {
		text  string
		want  float64
		print string
	}{
		{"6/s", 6, "6/s"},
		{"0.5/s", 0.5, "0.5/s"},
		{"30/min", 0.5, "0.5/s"},
		{"7/min", 7.0 / 60, "7/min"},
		{"100/h", 100.0 / 3600, "100/h"},
		{"6", 0, ""},
		{"6/sec", 0, ""},
		{"6 /s", 0, ""},
		{"-6/s", 0, ""},
		{"0/s", 0, ""},
		{"1e9/s", 0, ""},
		{"NaN/s", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var f float64
			s := Rate(&f, 0.001, 1e6)
			if p := s.Set(tt.text); (p == nil) != (tt.print != "") || f != tt.want {
				t.Fatalf("got %v, %+v, want %v", f, p, tt.want)
			}
			if got, ok := s.Text(); ok != (tt.print != "") || ok && got != tt.print {
				t.Errorf("printed: got %s, want %s", got, tt.print)
			}
		})
	}
}

func TestSize(t *testing.T) {
	tests := []struct {
		text  string
		want  int64
		print string
	}{
		{"8GiB", 8 << 30, "8GiB"},
		{"80GB", 80e9, "80GB"},
		{"1.5GiB", 3 << 29, "1536MiB"},
		{"1024MiB", 1 << 30, "1GiB"},
		{"81559MiB", 81559 << 20, "81559MiB"},
		{"1000B", 1000, "1KB"},
		{"1B", 1, "1B"},
		{"1024TiB", 1 << 50, "1024TiB"},
		{"80", 0, ""},
		{"80G", 0, ""},
		{"80Gi", 0, ""},
		{"80 GiB", 0, ""},
		{"0GiB", 0, ""},
		{"0.1B", 0, ""},
		{"1025TiB", 0, ""},
		{"-1GiB", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var n int64
			s := Size(&n)
			if p := s.Set(tt.text); (p == nil) != (tt.print != "") || n != tt.want {
				t.Fatalf("got %d, %+v, want %d", n, p, tt.want)
			}
			if got, ok := s.Text(); ok != (tt.print != "") || ok && got != tt.print {
				t.Errorf("printed: got %s, want %s", got, tt.print)
			}
		})
	}
}

func TestRatio(t *testing.T) {
	tests := []struct {
		text  string
		want  float64
		print string
	}{
		{"5%", 0.05, "5%"},
		{"7%", 0.07, "7%"}, // 7.0/100 is not 0.07
		{"29%", 0.29, "29%"},
		{"12.5%", 0.125, "12.5%"},
		{"0.1%", 0.001, "0.1%"},
		{"0%", 0, "0%"},
		{"0.05", 0, ""},
		{"5", 0, ""},
		{"0", 0, ""},
		{"100%", 0, ""},
		{"-5%", 0, ""},
		{"5 %", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var f float64
			s := Ratio(&f, 0, 0.99)
			p := s.Set(tt.text)
			if (p == nil) != (tt.print != "") || f != tt.want {
				t.Fatalf("got %v, %+v, want %v", f, p, tt.want)
			}
			if got, _ := s.Text(); p == nil && got != tt.print {
				t.Errorf("printed: got %s, want %s", got, tt.print)
			}
		})
	}
}

// What is printed reads back as exactly the same number, whatever it is.
func TestPrintedReadsBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		d := time.Duration(random.Int64N(int64(366 * day)))
		rate := random.ExpFloat64() * 100
		size := random.Int64N(1<<50) + 1
		ratio := random.Float64() * 0.98
		var (
			d2           time.Duration
			rate2, part2 float64
			size2        int64
		)
		for text, s := range map[string]Scalar{
			formatDuration(d):  Duration(&d2, 0, 400*day),
			formatRate(rate):   Rate(&rate2, 0, 1e9),
			formatSize(size):   Size(&size2),
			formatRatio(ratio): Ratio(&part2, 0, 1),
		} {
			if p := s.Set(text); p != nil {
				t.Fatalf("%s is refused: %+v", text, p)
			}
		}
		if d2 != d || rate2 != rate || size2 != size || part2 != ratio {
			t.Fatalf("got %v %v %v %v, want %v %v %v %v", d2, rate2, size2, part2, d, rate, size, ratio)
		}
	}
}
