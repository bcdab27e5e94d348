package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/servegate/servegate/cmd/internal/config/strict"
	"github.com/servegate/servegate/runner"
)

// ParseCommand turns the text of a flag or of an environment variable into the program
// and its arguments: a list as it would stand in the config ([vllm, serve, "{model}"]),
// or words as a shell would read them, with quotes and backslashes and nothing else.
// An error is a [*runner.PlanError].
func ParseCommand(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") {
		var list []string
		if err := planError(strict.Read("command", []byte(text), command(&list)).Err()); err != nil {
			return nil, err
		}
		return list, nil
	}
	if !utf8.ValidString(text) {
		return nil, checkCommand([]string{text})
	}
	list, err := splitWords(text)
	if err != nil {
		return nil, &runner.PlanError{What: "command: " + err.Error(), Remedy: `write it as a list: ["vllm", "serve", "--port", "{port}"]`}
	}
	for _, operator := range []string{"|", "||", "&", "&&", ";", ">", ">>", "<"} {
		if slices.Contains(list, operator) {
			return nil, &runner.PlanError{What: fmt.Sprintf("command: %s is given as an argument, and no shell reads it", operator), Remedy: "put the command into a script, or start it with sh -c"}
		}
	}
	if err := checkCommand(list); err != nil {
		return nil, err
	}
	return list, nil
}

// splitWords splits text at spaces that aren't quoted.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote, escaped := false, rune(0), false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case strings.ContainsRune(" \t\r\n", r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("the %c at its end is never closed", cmp.Or(quote, '\\'))
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// checkCommand holds a command from outside against the rules of one in a file.
func checkCommand(words []string) error {
	switch {
	case len(words) == 0:
		return &runner.PlanError{What: "command: nothing in it, expected a program and its arguments", Remedy: `for example: vllm serve {model} --port {port}`}
	case slices.ContainsFunc(words, func(w string) bool { return !utf8.ValidString(w) }):
		return &runner.PlanError{What: "command: bytes that are no UTF-8, expected UTF-8 text", Remedy: "every argument must be one that a config could hold"}
	}
	data, err := strict.Encode(command(&words))
	if err != nil {
		return err
	}
	var again []string
	return planError(strict.Read("command", data, command(&again)).Err())
}

// planError turns the first fault of a value that came from no file into an error of
// the plan: it has no line.
func planError(err error) error {
	var faults *Faults
	if !errors.As(err, &faults) {
		return err
	}
	f := faults.List[0]
	return &runner.PlanError{What: "command: " + f.What, Remedy: f.Hint}
}
