package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/servegate/servegate/cmd/internal/config"
)

// defaultConfigs are the places where a config is looked for unless -c says one.
var defaultConfigs = []string{"servegate.yaml", ".github/servegate.yaml"}

// source is the part of the command line that says what is measured: the config, a
// subset of its matrix, and the build under test.
type source struct {
	path    string
	subset  string
	command string
	flags   config.Overrides
}

// register adds the flags to cmd.
func (s *source) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&s.path, "config", "c", "", "config `file` (default servegate.yaml, then .github/servegate.yaml)")
	f.StringVar(&s.subset, "subset", "", "`name` of the subset of the matrix (default pull_request, or the only one)")
	f.Func("repetitions", "`number` of repetitions of each cell (default from the config)", s.setRepetitions)
	f.StringVar(&s.flags.Image, "image", "", "container image of the build under test, in place of the config's")
	f.StringVar(&s.command, "command", "", "command of the build under test, in place of the config's engine")
	f.StringVar(&s.flags.URL, "url", "", "`URL` of a running engine to attach to, in place of the config's engine")
	f.StringVar(&s.flags.Commit, "engine-commit", "", "commit of the build under test")
}

// setRepetitions takes what --repetitions says; 0 would mean that it says nothing.
func (s *source) setRepetitions(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("expected a whole number from 1")
	}
	s.flags.Repetitions = n
	return nil
}

// load reads the config with what flags and environment say on top of it. Flags beat
// the environment, which beats the file.
func (s *source) load(env Env) (*config.Config, error) {
	path, err := s.find()
	if err != nil {
		return nil, err
	}
	if s.command != "" {
		if s.flags.Command, err = config.ParseCommand(s.command); err != nil {
			return nil, err
		}
	}
	under, err := config.OverridesFromEnv(env.Getenv)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(path, config.Options{Overrides: s.flags.Over(under)})
	if err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintf(env.Stderr, "servegate: warning: %s\n", w)
	}
	return cfg, nil
}

// find is the path of the config.
func (s *source) find() (string, error) {
	if s.path != "" {
		return s.path, nil
	}
	for _, path := range defaultConfigs {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", &usageError{
		err:  fmt.Errorf("no config: neither %s nor %s is here", defaultConfigs[0], defaultConfigs[1]),
		hint: "name one with -c FILE",
	}
}
