package load

import (
	"context"
	"testing"

	"github.com/servegate/servegate/gate"
)

// BenchmarkOverhead is what the driver itself costs a request: its sends end at once.
func BenchmarkOverhead(b *testing.B) {
	for _, spec := range []Spec{
		{Concurrency: 1000, Start: Together},
		{Process: Poisson, Rate: maxRate},
	} {
		b.Run(spec.String(), func(b *testing.B) {
			b.ReportAllocs()
			_, err := Drive(b.Context(), Options{Spec: spec, Amount: Amount{Requests: b.N}},
				func(gate.Phase, int) Send { return func(context.Context, Ticket) {} })
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
