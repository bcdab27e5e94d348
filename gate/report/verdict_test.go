package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/servegate/gate"
)

func TestVerdictGolden(t *testing.T) {
	for name, v := range testVerdicts() {
		t.Run(name, func(t *testing.T) {
			xml, err := JUnit(v)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "verdict", name)
			golden(t, path+".md", string(Markdown(v, Options{Size: -1})))
			golden(t, path+".txt", string(Text(v, TextOptions{})))
			golden(t, path+".xml", string(xml))
		})
	}
}

func TestReportsAreDeterministic(t *testing.T) {
	for range 2 {
		for name, v := range testVerdicts() {
			a, b := Markdown(v, Options{}), Markdown(testVerdicts()[name], Options{})
			if !bytes.Equal(a, b) {
				t.Fatalf("%s: two reports of one verdict differ:\n%s", name, cmp.Diff(string(a), string(b)))
			}
		}
	}
}

func TestTextInColourAndNarrow(t *testing.T) {
	v := testVerdicts()["regressed-decode"]
	golden(t, filepath.Join("testdata", "verdict", "colour.txt"), string(Text(v, TextOptions{Color: true})))
	narrow := string(Text(v, TextOptions{Width: 80}))
	golden(t, filepath.Join("testdata", "verdict", "width-80.txt"), narrow)
	for line := range strings.SplitSeq(narrow, "\n") {
		if got := width(line); got > 80 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("a line of %d columns, want at most 80: %s", got, line)
		}
	}
	plain := string(Text(v, TextOptions{}))
	coloured := regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(string(Text(v, TextOptions{Color: true})), "")
	if diff := cmp.Diff(plain, coloured); diff != "" {
		t.Errorf("colour changes the text (-without +with):\n%s", diff)
	}
}

func TestMarkdownKeepsToItsSize(t *testing.T) {
	many := forty()
	for i := range many.Cells {
		replace(&many.Cells[i], testRow(gate.TTFT, gate.P95, .0121, 1.3, .06, gate.Regressed), testRow(gate.TTFT, gate.P99, .0121, 1.3, .06, gate.Regressed))
	}
	wordy := hostile(strings.Repeat("<`|@", 3000))
	wordy.Config = strings.Repeat("key: value\n", 10_000)
	worst := hostile(strings.Repeat("<", 500))
	worst.Cells = nil
	for i := range 8 {
		c := testCell(strings.Repeat("<", 500) + fmt.Sprint(i))
		for _, f := range gate.EnvelopeFields {
			c.Envelope[f.Path] = gate.Field{Value: strings.Repeat("<", 500) + fmt.Sprint(i), Source: gate.FromConfig}
		}
		c.Result = gate.NotComparable
		c.Differs, c.Rows = gate.Diff(testEnvelope("closed(8,spread)"), c.Envelope), append(c.Rows, c.Rows...)
		worst.Cells = append(worst.Cells, c)
	}
	tests := []struct {
		name      string
		v         *gate.Verdict
		size      int
		left      []string
		regressed int // rows in the table
	}{
		{"40 cells", forty(), 0, nil, 5},
		{"40 cells without advisory rows", forty(), 55_000, []string{"80 advisory rows"}, 5},
		{"40 cells in little", forty(), 20_000, []string{"advisory rows", "255 rows that passed"}, 5},
		{"40 cells in less", forty(), 12_000, []string{"advisory rows", "275 rows that passed", "full config"}, 5},
		{"80 regressed rows", many, 30_000, []string{"advisory rows", "rows that passed"}, 80},
		{"too many regressed rows for the size", many, 12_000, []string{"rows that regressed"}, 10},
		{"hostile", wordy, 60_000, nil, 0},
		{"nothing but hostile", worst, 60_000, []string{"full config"}, 0},
		{"hostile in little", wordy, 40_000, []string{"full config"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			page := string(Markdown(tt.v, Options{Size: tt.size}))
			want := tt.size
			if want == 0 {
				want = DefaultSize
			}
			if len(page) > want {
				t.Errorf("got %d bytes, want at most %d", len(page), want)
			}
			for _, left := range tt.left {
				if !strings.Contains(page[max(0, strings.LastIndex(page, "**Left out**")):], left) {
					t.Errorf("the report doesn't say that %q were left out", left)
				}
			}
			if got := strings.Count(page, "| **regressed** | 12.1 ms"); tt.regressed > 0 && got != tt.regressed {
				t.Errorf("got %d regressed rows, want %d", got, tt.regressed)
			}
		})
	}
}

func TestMarkdownSaysWhatWasProved(t *testing.T) {
	tests := []struct {
		result gate.Result
		failed bool
		want   string
		mark   string
	}{
		{gate.Passed, false, "lets it pass", "✅"},
		{gate.Improved, false, "lets it pass", "✅"},
		{gate.Regressed, true, "**fails the gate**", "❌"},
		{gate.Regressed, false, "**lets this regression through**", "⚠️"},
		{gate.Inconclusive, false, "**nothing was proved**", "⚠️"},
		{gate.Inconclusive, true, "**fails the gate**", "❌"},
		{gate.NoBaseline, false, "**nothing was proved**", "⚠️"},
		{gate.NotComparable, false, "**nothing was proved**", "⚠️"},
		{gate.Invalid, false, "**nothing was proved**", "⚠️"},
	}
	for _, tt := range tests {
		page := string(Markdown(testVerdict(tt.result, tt.failed, testCell("chat@near")), Options{}))
		if !strings.Contains(page, tt.want) || !strings.HasPrefix(page, "## "+tt.mark) {
			t.Errorf("%s, failed %v: got %q, want mark %s and %q", tt.result, tt.failed, page[:400], tt.mark, tt.want)
		}
	}
}

func TestJUnitIsNeverGreenerThanThePolicy(t *testing.T) {
	v := unsure()
	count := func() (failures, errs, skipped int) {
		data, err := JUnit(v)
		if err != nil {
			t.Fatal(err)
		}
		var got junitSuites
		if err := xml.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		return got.Failures, got.Errors, got.Skipped
	}
	if f, e, s := count(); f != 0 || e != 0 || s != 2 {
		t.Errorf("inconclusive let through: got %d failures, %d errors, %d skipped, want 0, 0, 2", f, e, s)
	}
	v.Policy.FailOn = append(v.Policy.FailOn, gate.Inconclusive)
	if f, e, s := count(); f != 0 || e != 2 || s != 0 {
		t.Errorf("inconclusive failed: got %d failures, %d errors, %d skipped, want 0, 2, 0", f, e, s)
	}
}

func TestJSON(t *testing.T) {
	v := forty()
	data, err := JSON(v)
	if err != nil {
		t.Fatal(err)
	}
	var got gate.Verdict
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Markdown(v, Options{}), Markdown(&got, Options{})); diff != "" {
		t.Errorf("the report of a verdict that went through JSON differs:\n%s", diff)
	}
	v.Cells[0].Errors.P = math.NaN()
	if _, err := JSON(v); err == nil || !strings.HasPrefix(err.Error(), "encode verdict: ") {
		t.Errorf("got error %v, want one of encoding", err)
	}
}

func TestChange(t *testing.T) {
	tests := []struct {
		v    float64
		want string
	}{
		{.339, "+33.9 %"},
		{-.12, "-12.0 %"},
		{.0004, "0.0 %"},
		{-.0004, "0.0 %"},
		{-.001, "-0.1 %"},
		{1, "+100 %"},
		{.9996, "+100 %"},
		{12.345, "+1234 %"},
		{1e300, "+1.00e+302 %"},
		{math.NaN(), "+NaN %"},
	}
	for _, tt := range tests {
		if got := change(tt.v); tt.want != got && !math.IsNaN(tt.v) {
			t.Errorf("change(%v): got %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestValuesShareAScale(t *testing.T) {
	if _, _, got := values(ptr(.0009), ptr(.0162), gate.Seconds); got != "0.900 -> 16.2 ms" {
		t.Errorf("got %q, want 0.900 -> 16.2 ms", got)
	}
	if _, _, got := values(nil, ptr(.0162), gate.Seconds); got != "- -> 16.2 ms" {
		t.Errorf("got %q, want - -> 16.2 ms", got)
	}
}

// FuzzVerdict holds reports of hostile verdicts to what no string may break.
func FuzzVerdict(f *testing.F) {
	for _, s := range []string{
		"", " ", "|", "\\|", "`", "``` \n```\n<b>", "</details>", "@user", "a@b.c", "\n# x\n", "\r| a | b |", "\u2028\u2029\u202e", "<!-- x -->",
		"https://evil.example", "www.evil.example", "![x](y)", "GH-1", "gh-1", "#1", "&lt;", "\xff\xfe", "\x1b[0m\x00", "- x", "1. x", "\u0085", "`a\\", "~~~", "a\\",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, calm := hostile(s), hostile("calm")
		if strings.TrimSpace(plain(s, lineLimit)) == "" {
			calm = v // what has no text has no place on the page
		}
		checkMarkdown(t, string(Markdown(v, Options{Size: -1})), string(Markdown(calm, Options{Size: -1})))
		for _, r := range string(Text(v, TextOptions{Width: 100})) {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\u200b' {
				t.Fatalf("%U in the text", r)
			}
		}
		data, err := JUnit(v)
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("the JUnit file is no XML: %v", err)
			}
		}
	})
}

var (
	codeSpans  = regexp.MustCompile("`[^`\n]*`")
	ourTags    = regexp.MustCompile(`</?(details|summary|code)>`)
	mention    = regexp.MustCompile(`[@#]($|[^&])`)
	headings   = regexp.MustCompile(`(?m)^#+&|^#+`)
	entity     = regexp.MustCompile(`&#\d+;`)
	references = regexp.MustCompile(`(?i)gh-\d|://|www\.`)
)

// checkMarkdown holds a hostile page to the structure of a calm one.
func checkMarkdown(t *testing.T, page, calm string) {
	t.Helper()
	if strings.Contains(page, "<!--") {
		t.Fatal("a comment, by which ours are told from others")
	}
	for _, r := range page {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\u200b' {
			t.Fatalf("%U on the page", r)
		}
	}
	page, calm = withoutFences(t, page), withoutFences(t, calm)
	if got, want := strings.Count(page, "\n| "), strings.Count(calm, "\n| "); got != want {
		t.Fatalf("got %d table lines, want %d:\n%s", got, want, page)
	}
	columns := 0
	for line := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			if strings.Contains(line, "|") {
				t.Fatalf("a pipe outside of a table: %s", line)
			}
		} else if n := strings.Count(line, "|"); columns != 0 && n != columns {
			t.Fatalf("got %d pipes, want %d as in the title: %s", n, columns, line)
		} else {
			columns = n
		}
		bare := codeSpans.ReplaceAllString(line, "")
		text := headings.ReplaceAllString(ourTags.ReplaceAllString(bare, ""), "")
		if text = entity.ReplaceAllString(text, "&"); strings.ContainsAny(text, "<`[]") || mention.MatchString(text) || references.MatchString(text) {
			t.Fatalf("markup, a link or a mention: %s", line)
		}
	}
	for _, tag := range []string{"<details>", "</details>", "</summary>"} {
		if got, want := strings.Count(page, tag), strings.Count(calm, tag); got != want {
			t.Fatalf("got %d %s, want %d", got, tag, want)
		}
	}
}

// withoutFences takes the fenced blocks out of a page as a renderer finds them: a fence
// ends with the first line that is at least as many backticks as the one that opened it.
func withoutFences(t *testing.T, page string) string {
	t.Helper()
	var out []string
	marks, blocks := "", 0
	for line := range strings.SplitSeq(page, "\n") {
		bare := strings.TrimRight(line, "`")
		switch {
		case marks != "":
			if strings.TrimSpace(bare) == "" && len(line)-len(bare) >= len(marks) {
				marks = ""
			}
		case strings.HasPrefix(line, "```"):
			marks = line[:len(line)-len(strings.TrimLeft(line, "`"))]
			blocks++
			if language := line[len(marks):]; language != "sh" && language != "yaml" {
				t.Fatalf("a fence that isn't ours: %s", line)
			}
		default:
			out = append(out, line)
		}
	}
	if marks != "" || blocks > 2 {
		t.Fatalf("%d fences, the last one open: %v", blocks, marks != "")
	}
	return strings.Join(out, "\n")
}
