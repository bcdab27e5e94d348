package workload_test

import (
	"fmt"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner/workload"
)

func ExampleGenerator() {
	spec := workload.Spec{
		Name:   "chat",
		Input:  workload.Lengths{Distribution: workload.Lognormal, Mean: 512, SD: 200, Max: 2048},
		Output: workload.Lengths{Distribution: workload.Fixed, Mean: 128},
		API:    workload.Completions, Prompt: workload.Auto, Cache: workload.Cold,
	}
	ids, err := spec.Vocabulary(nil) // or what the engine's tokenizer makes of ProbeText
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := workload.New(workload.Options{Spec: spec, Seed: 1, Form: workload.IDs, Vocabulary: ids, Run: "a1", Repetition: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		r := g.Request(gate.Measure, i)
		fmt.Println(r.Input, len(r.IDs), r.Output)
	}
	fmt.Println(g.PromptSource(), g.MaxContext(1000))
	// Output:
	// 378 378 128
	// 394 394 128
	// 359 359 128
	// ids(10-250) 1764
}
