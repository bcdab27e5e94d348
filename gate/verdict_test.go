package gate

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestReadVerdict(t *testing.T) {
	data := golden(t)
	v, err := ReadVerdict(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(again)+"\n"); diff != "" {
		t.Errorf("read and written again it differs:\n%s", diff)
	}
	if got, ok := v.Cells[2].Differs[0].A.Value.(int64); !ok || got != 1 {
		t.Errorf("a whole number of a difference: got %T, want int64", v.Cells[2].Differs[0].A.Value)
	}
}

func TestReadVerdictRefuses(t *testing.T) {
	good := string(golden(t))
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the golden verdict has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	tests := []struct{ name, data, want string }{
		{"nothing", "", "unexpected end"},
		{"cut short", good[:len(good)/2], "unexpected end"},
		{"a newer schema", edit("servegate.verdict/v1", "servegate.verdict/v2"), `its schema is "servegate.verdict/v2", and this servegate reads servegate.verdict/v1 only`},
		{"another file", `{"schema":"servegate.run/v1"}`, "servegate.run/v1"},
		{"no schema", `{}`, `its schema is ""`},
		{"an unknown key", edit(`"failed"`, `"passed": 1, "failed"`), "unknown field"},
		{"an unknown key in a difference", edit(`"path": "parallel.tp"`, `"path": "parallel.tp", "more": 1`), "unknown field"},
		{"a key given twice", edit(`"failed"`, `"Failed": true, "failed"`), `"failed" is given twice`},
		{"not a number", edit(`"level": 0.05`, `"level": NaN`), "invalid character"},
		{"too large a number", edit(`"level": 0.05`, `"level": 1e999`), "1e999"},
		{"text after it", good + "{}", "after top-level value"},
		{"an unknown result", edit(`"result": "regressed"`, `"result": "fine"`), `unknown result "fine"`},
		{"a result better than its cells'", edit(`"result": "regressed"`, `"result": "passed"`), "was it edited?"},
		{"other values than its own", edit(`"base_values": [
            `, `"base_values": [
            9`), "not what its values give"},
		{"not failed", edit(`"failed": true`, `"failed": false`), "was it edited?"},
		{"an unknown metric", edit(`"metric": "itl",
          "statistic": "mean"`, `"metric": "speed",
          "statistic": "mean"`), "unknown row"},
	}
	for _, tt := range tests {
		if _, err := ReadVerdict([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "read verdict: ") {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	deep := `{"schema":"servegate.verdict/v1","cells":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}"
	if _, err := ReadVerdict([]byte(deep)); err == nil || !strings.Contains(err.Error(), "32 deep") {
		t.Errorf("deep: got %v", err)
	}
}

func FuzzReadVerdict(f *testing.F) {
	f.Add([]byte(`{"schema":"servegate.verdict/v1","result":"invalid","failed":false}`))
	f.Add([]byte(`{"schema":"servegate.verdict/v1","result":"passed","cells":[{"id":"a","result":"passed","rows":[{"metric":"ttft"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ReadVerdict(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Skip() // an envelope or a count that Go fills in and the file left out
		}
		if _, err := ReadVerdict(again); err != nil {
			t.Errorf("what was read is refused when written: %v", err)
		}
	})
}

func verdictSchemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(VerdictJSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("verdict.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("verdict.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestVerdictsKeepTheSchema(t *testing.T) {
	schema := verdictSchemaOf(t)
	valid := func(data []byte) error {
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(instance)
	}
	if err := valid(golden(t)); err != nil {
		t.Errorf("the golden verdict: %v", err)
	}
	empty := Judge(Policy{}, &Run{}, nil)
	failing := judged(DefaultPolicy())
	ratio := .5
	failing.Cells[0].HitRatio, failing.Cells[0].Concurrency = &ratio, 8
	failing.Cells[0].SLO = SLO{1, 2, 3, 4, 5}
	for name, v := range map[string]*Verdict{"of nothing": empty, "with all there is": failing} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(data); err != nil {
			t.Errorf("a verdict %s: %v", name, err)
		}
	}
	for _, broken := range []string{`"result": "fine"`, `"result": "regressed", "more": 1`} {
		if valid([]byte(strings.Replace(string(golden(t)), `"result": "regressed"`, broken, 1))) == nil {
			t.Errorf("%s: got no error", broken)
		}
	}
}

// TestSchemaHasEveryField holds the properties of the schema to the fields of the types.
func TestSchemaHasEveryField(t *testing.T) {
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(VerdictJSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	compare := func(name string, o object, v any) {
		want, needed := fieldsOf(reflect.TypeOf(v))
		got := slices.Sorted(maps.Keys(o.Properties))
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: properties (-want +got):\n%s", name, diff)
		}
		slices.Sort(needed)
		slices.Sort(o.Required)
		if diff := cmp.Diff(needed, o.Required, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: required (-want +got):\n%s", name, diff)
		}
	}
	compare("verdict", schema.object, Verdict{})
	for name, v := range map[string]any{
		"tool": Tool{}, "subject": Subject{}, "run": RunRef{}, "change": Change{}, "field": Field{}, "difference": Difference{},
		"policy": Policy{}, "slo": SLO{}, "side": SideCount{}, "row": RowComparison{}, "errors": ErrorComparison{}, "cell": CellComparison{},
	} {
		compare(name, schema.Defs[name], v)
	}
	outcomes := []string{"issued"}
	for _, o := range Outcomes {
		outcomes = append(outcomes, string(o))
	}
	slices.Sort(outcomes)
	if diff := cmp.Diff(outcomes, slices.Sorted(maps.Keys(schema.Defs["outcomes"].Properties))); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	var metrics []string
	for _, d := range Metrics {
		metrics = append(metrics, string(d.Metric))
	}
	if diff := cmp.Diff(metrics, schema.Defs["metric"].Enum); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	var results []string
	for _, r := range Results {
		results = append(results, string(r))
	}
	if diff := cmp.Diff(results, schema.Defs["result"].Enum); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

type object struct {
	Properties map[string]any
	Required   []string
	Enum       []string
}

// fieldsOf returns the keys that a struct has in JSON, and those that are always there.
func fieldsOf(typ reflect.Type) (all, always []string) {
	for _, f := range reflect.VisibleFields(typ) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, name)
		if !strings.Contains(options, "omit") {
			always = append(always, name)
		}
	}
	return all, always
}
