package strict

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	sized := func(name string, size int64) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name, path, want string
		is               error
	}{
		{"missing", filepath.Join(dir, "none.yaml"), "no such file", fs.ErrNotExist},
		{"directory", dir, "a directory, expected a file", nil},
		{"10 MB", sized("big.yaml", 10e6), "over 1 MiB", nil},
		{"one byte too many", sized("over.yaml", MaxSize+1), "over 1 MiB", nil},
		{"just small enough", sized("fits.yaml", MaxSize), "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := ReadFile(tt.path)
			if tt.want == "" {
				if err != nil || len(data) != MaxSize {
					t.Fatalf("got %d bytes, %v, want %d", len(data), err, MaxSize)
				}
				return
			}
			var faults *Faults
			if !errors.As(err, &faults) || len(faults.List) != 1 || faults.List[0].Hint == "" {
				t.Fatalf("got %#v, want one fault with a hint", err)
			}
			if !strings.HasPrefix(err.Error(), tt.path+": read config: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want %q in it", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want errors.Is %v", err, tt.is)
			}
		})
	}
}

func TestReadFileUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read every file")
	}
	path := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(path, nil, 0o000); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want fs.ErrPermission", err)
	}
}

// anything is a table that takes every key that the tests below give.
func anything(words *[]string, env *map[string]string) Value {
	return Object{Keys: []Key{
		{Name: "words", Doc: "words", Value: List[string]{Var: words, Of: func(v *string) Value { return Word(v, nil) }}},
		{Name: "env", Doc: "variables", Value: Dict[string]{Var: env, Name: Name{Pattern: plainName}, Of: func(_ string, v *string) Value { return Word(v, nil) }}},
	}}
}

func TestReadEncodings(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"byte order mark", "\ufeffwords: [a]\n", ""},
		{"CRLF", "words:\r\n  - a\r\n", ""},
		{"no newline at the end", "words: [a]", ""},
		{"explicit document", "---\nwords: [a]\n...\n", ""},
		{"UTF-16", "w\x00o\x00r\x00d\x00s\x00", "f:1:2: the control character U+0000, expected UTF-8 text"},
		{"Latin-1", "words: [a]\nenv: {A: caf\xe9}\n", "f:2:13: bytes that are no UTF-8, expected UTF-8 text"},
		{"escape", "words: [\x1b[31m]\n", "f:1:9: the control character U+001B, expected UTF-8 text"},
		{"empty", "", "f:1:1: the file is empty, expected a config"},
		{"spaces", " \n\n", "f:1:1: the file is empty, expected a config"},
		{"NUL by escape", `words: ["a\0"]`, "f:1:9: words[0]: a text with a NUL, expected a text"},
		{"lone surrogate", `words: ["\ud800"]`, "f:1:1: not valid YAML: found invalid Unicode character escape code"},
		{"directive", "%YAML 3.0\n---\nwords: [a]\n", "f:1:1: not valid YAML: found incompatible YAML document"},
		{"second document", "words: [a]\n---\nwords: [b]\n", "f:2:1: a second YAML document begins here, expected one"},
		{"broken second document", "words: [a]\n---\nwords: [b\n", "f:3:1: not valid YAML: did not find expected ',' or ']'"},
		{"null key", "~: 1\n", "f:1:1: nothing as a key, expected a name"},
		{"list as a key", "[a]: 1\n", "f:1:1: a list as a key, expected a name"},
		{"line breaks in a key", "\"a\\nb\": 1\n", `f:1:1: unknown key "a\nb"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var words []string
			var env map[string]string
			err := Read("f", []byte(tt.data), anything(&words, &env)).Err()
			got := ""
			if err != nil {
				got, _, _ = strings.Cut(err.Error(), "\n")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.want == "" && (len(words) != 1 || words[0] != "a") {
				t.Errorf("got %q, want [a]", words)
			}
		})
	}
}

// The largest files of the worst kinds are answered in a bounded time, whether or not
// they are YAML. The bound is generous: an unbounded one takes minutes or the memory.
func TestReadHostile(t *testing.T) {
	fill := func(head, part string) string {
		return head + strings.Repeat(part, (MaxSize-len(head))/len(part))
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		a := string(rune('0' + i))
		b := string(rune('1' + i))
		bomb += "a" + b + ": &a" + b + " [" + strings.Repeat("*a"+a+", ", 10) + "]\n"
	}
	tests := map[string]string{
		"alias bomb":         bomb,
		"flat aliases":       fill("words: &a [x]\nenv: [", "*a,"),
		"alias of itself":    "words: &a [*a]\n",
		"brackets":           fill("", "["),
		"braces":             fill("", "{"),
		"dashes":             fill("", "- "),
		"question marks":     fill("", "? "),
		"unknown keys":       fill("", "k: 1\n"),
		"long key":           fill("", "k") + ": 1\n",
		"long value":         "words: " + fill("", "x"),
		"comments":           fill("", "# c\nwords: [a]\n"),
		"documents":          fill("", "---\n"),
		"anchors":            fill("", "&a "),
		"tags":               fill("words: [", "!a x,"),
		"wrong items":        fill("words: [", "[],"),
		"lines of tabs":      fill("words:\n", "\t\n"),
		"quoted":             fill("words: \"", "\\x41"),
		"placeholders":       fill("words: [", "{a},"),
		"variables":          fill("words: [", "${a},"),
		"deep but balanced":  "words: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"long block scalars": fill("words:\n", "- |\n x\n"),
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			var words []string
			var env map[string]string
			start := time.Now()
			err := Read("f", []byte(data), anything(&words, &env)).Err()
			if err == nil && name != "variables" {
				t.Error("got no fault")
			}
			if err != nil && len(err.Error()) > 20_000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			if spent := time.Since(start); spent > 10*time.Second {
				t.Errorf("took %s", spent)
			}
		})
	}
}
