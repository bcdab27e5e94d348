package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// odd are values that are wrong almost everywhere, and right at a place or two.
var odd = []string{
	`~`, `""`, `" "`, `0`, `1`, `-1`, `1.5`, `1e9`, `0x10`, `1_000`, `.inf`, `.nan`, `99999999999999999999`, `yes`, `true`, `false`,
	`[]`, `{}`, `[[]]`, `[~]`, `{a: b}`, `{"": 1}`, `{1: 1}`, `5%`, `100%`, `6/s`, `0/s`, `8GiB`, `500ms`, `1d`, `0s`, `auto`, `never`, `none`, `all`,
	`chat@near`, `"@"`, `"a\tb"`, `"\u2028"`, `"\U0001F600"`, `2026-01-01`, `!!str x`, `&a x`, `"${A}"`, `"{model}"`, `"http://h"`, `[a, a]`, `"1"`, `"null"`, `"- a"`, `"#"`,
}

// every is the share of mutants that is tried: all of them take a minute. It is coprime
// to the number of odd values, so that each of them and each place has its turn.
const every = 20

// Values of a config with all keys are replaced by odd ones, and keys are dropped.
// Whatever comes of it is refused with a place and a hint, or accepted and then keeps
// the laws of accepted configs, the published schema among them.
func TestMutations(t *testing.T) {
	for _, file := range []string{"testdata/ok/full.yaml", "testdata/ok/docker.yaml"} {
		var doc yaml.Node
		if err := yaml.Unmarshal(read(t, file), &doc); err != nil {
			t.Fatal(err)
		}
		made, kept := 0, 0
		try := func(mutation string) {
			made++
			if made%every == 0 && mutated(t, &doc, mutation) {
				kept++
			}
		}
		for _, place := range places(doc.Content[0]) {
			was := *place
			for _, text := range odd {
				*place = parseOdd(t, text)
				try(fmt.Sprintf("line %d: %s for %q", was.Line, text, was.Value))
			}
			*place = was
		}
		for _, m := range mappings(doc.Content[0]) {
			was := m.Content
			for i := 0; i < len(was); i += 2 {
				m.Content = append(append([]*yaml.Node{}, was[:i]...), was[i+2:]...)
				try("without " + was[i].Value)
			}
			m.Content = was
		}
		if kept == 0 || kept == made/every {
			t.Errorf("%s: %d of %d mutants were accepted", file, kept, made/every)
		}
	}
}

// mutated holds one mutant against the laws, and reports whether it was accepted.
func mutated(t *testing.T, doc *yaml.Node, mutation string) bool {
	t.Helper()
	data, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("mutant", data)
	var faults *Faults
	if err == nil {
		accepted(t, mutation, data)
		// JSON has no such numbers, so that no schema can speak of them; the parser takes
		// them for the texts that they are.
		if err := validate(t, data); err != nil && !strings.Contains(err.Error(), "unsupported value") {
			t.Errorf("%s: the schema refuses what the parser accepts: %v", mutation, err)
		}
		return true
	}
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want *Faults", err)
	}
	for _, f := range faults.List {
		if f.Line < 1 || f.Hint == "" || strings.ContainsAny(f.Error()+f.Hint, "\n\t\x00") {
			t.Errorf("%s: fault without a place or a hint, or with a line break: %+v", mutation, f)
		}
	}
	return false
}

func parseOdd(t *testing.T, text string) yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&doc); err != nil {
		t.Fatal(fmt.Errorf("odd value %s: %w", text, err))
	}
	return *doc.Content[0]
}

// places returns all values of a tree, keys left out.
func places(n *yaml.Node) (all []*yaml.Node) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		all = append(all, c)
		all = append(all, places(c)...)
	}
	return all
}

func mappings(n *yaml.Node) (all []*yaml.Node) {
	if n.Kind == yaml.MappingNode {
		all = append(all, n)
	}
	for _, c := range n.Content {
		all = append(all, mappings(c)...)
	}
	return all
}
