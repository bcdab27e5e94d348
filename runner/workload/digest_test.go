package workload

import "testing"

// A digest is part of the envelope of stored baselines: a change here makes all of
// them incomparable. The values were computed by another program, in Python.
func TestDigestGolden(t *testing.T) {
	tests := []struct {
		name string
		spec Spec
		form Prompt
		want string
	}{
		{"cold, ids", cold, IDs, "bfc5e37548f1498d4a376fa49c23bc51f00c65dc286b86590b2118432447e964"},
		{"cold, text", cold, Text, "a976c2b53556d1d243c143ee7a7f5a1b64e0938fbbbdef827e792fa7e2a79799"},
		{"shared prefix, ids", shared, IDs, "b7c68e3abedec36a22b31b4b6bd1b59f6b18e4f3bf074c25713fc27fde53292f"},
		{"shared prefix, text", shared, Text, "72909395d2b89482cd162dae670d1976846fe2c5674f1c3e4b4a60775d901bdb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := newGenerator(t, options(t, tt.spec, tt.form)).Digest(100); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDigestKnowsWhatMatters(t *testing.T) {
	base := options(t, shared, IDs)
	want := newGenerator(t, base).Digest(50)
	tests := []struct {
		name   string
		change func(*Options)
		same   bool
	}{
		{"run", func(o *Options) { o.Run = "77" }, true},
		{"repetition", func(o *Options) { o.Repetition = 2 }, true},
		{"name", func(o *Options) { o.Spec.Name = "other" }, true},
		{"streaming", func(o *Options) { o.Spec.Stream = true }, true},
		{"seed", func(o *Options) { o.Seed = 2 }, false},
		{"input", func(o *Options) { o.Spec.Input.Max++ }, false},
		{"output", func(o *Options) { o.Spec.Output.Max++ }, false},
		{"prefix", func(o *Options) { o.Spec.Prefix-- }, false},
		{"cache", func(o *Options) { o.Spec.Cache, o.Spec.Prefix = Cold, 0 }, false},
		{"vocabulary", func(o *Options) { o.Vocabulary.n-- }, false},
		{"form", func(o *Options) { o.Form = Text }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := base
			tt.change(&o)
			if got := newGenerator(t, o).Digest(50); (got == want) != tt.same {
				t.Errorf("got %s and %s, want equal: %v", got, want, tt.same)
			}
		})
	}
	if got := newGenerator(t, base).Digest(51); got == want {
		t.Error("got the same digest for 50 and 51 requests")
	}
}
