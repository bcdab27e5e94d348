package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/servegate/gate"
	"github.com/servegate/servegate/runner"
)

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servegate.yaml")
	if err := os.WriteFile(path, []byte(head), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, Options{Overrides: Overrides{URL: "http://other:1"}})
	if err != nil || c.Engine.Attach.URL != "http://other:1" {
		t.Fatalf("got %+v, %v", c, err)
	}
	var faults *Faults
	if _, err := Load(path+".none", Options{}); !errors.As(err, &faults) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v, want *Faults that is os.ErrNotExist", err)
	}
	var unfit *runner.PlanError
	if _, err := Load(path, Options{Overrides: Overrides{Image: "x"}}); !errors.As(err, &unfit) {
		t.Errorf("unfit overrides: got %v, want *runner.PlanError", err)
	}
}

// A secret that someone wrote into the wrong place isn't carried any further: neither
// by a fault, nor by a warning, nor by what is printed.
func TestSecretsStayHidden(t *testing.T) {
	const secret = "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ"
	places := map[string]string{
		"secrets":           `process: {command: [serve, "{port}"], secrets: [` + secret + `]}`,
		"secrets in braces": `process: {command: [serve, "{port}"], secrets: [{` + secret + `}]}`,
		"secrets as text":   `process: {command: [serve, "{port}"], secrets: ` + secret + `}`,
		"env":               `process: {command: [serve, "{port}"], env: {HF_TOKEN: ` + secret + `}}`,
		"env as text":       `process: {command: [serve, "{port}"], env: HF_TOKEN=` + secret + `}`,
		"env as a list":     `process: {command: [serve, "{port}"], env: [HF_TOKEN=` + secret + `]}`,
		"pass_env":          `process: {command: [serve, "{port}"], pass_env: [HF_TOKEN=` + secret + `, HF_TOKEN=` + secret + `]}`,
		"flag":              `process: {command: [serve, "{port}", --api-key=` + secret + `]}`,
		"URL":               `attach: {url: "http://u:` + secret + `@host"}`,
		"broken URL":        `attach: {url: "http://u:` + secret + `% @host"}`,
		"api_key":           `attach: {url: "http://host"}, api_key: ` + secret,
		"docker env":        `docker: {image: x, env: {API_KEY: ` + secret + `}}`,
	}
	for name, launcher := range places {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f", []byte(engineConfig(launcher)))
			if name == "api_key" {
				_, err = Parse("f", []byte(strings.Replace(engineConfig(launcher), "api_key: KEY, ", "", 1)))
			}
			if err == nil {
				t.Fatal("got no fault")
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the fault shows the secret: %v", err)
			}
		})
	}
}

// What can gate and what the registry of metrics knows must not drift apart.
func TestRowsFollowTheRegistry(t *testing.T) {
	for _, row := range rows {
		name, statistic, ok := strings.Cut(row, ".")
		d, known := gate.Define(gate.Metric(name))
		if !known || d.Distribution != ok || ok && statistic == "" {
			t.Errorf("row %s: metric known %t, distribution %t", row, known, d.Distribution)
		}
	}
	for _, row := range newGate().Metrics {
		if !rowNames.Pattern.MatchString(row) {
			t.Errorf("default row %s can't be written into a config", row)
		}
	}
}
