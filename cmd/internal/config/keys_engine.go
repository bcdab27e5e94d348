package config

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/servegate/servegate/cmd/internal/config/strict"
)

// kinds are the engines that a config may name.
var kinds = []string{"openai", "vllm", "sglang", "trtllm", "llamacpp", "tgi", "ollama", "dynamo", "sim"}

func (e *Engine) value() strict.Value {
	return strict.Object{
		OneOf: []string{"process", "attach", "docker"},
		Keys: []strict.Key{
			{Name: "kind", Doc: "which engine it is; openai is a server that we know nothing about, sim the built-in one", Value: strict.Enum(&e.Kind, kinds...), Also: []string{"type", "name"}},
			{Name: "commit", Doc: "commit of the source that the build was made from; --engine-commit overrides it", Value: commit(&e.Commit)},
			{Name: "process", Doc: "start it as a process of this host", Value: strict.Optional[Process]{Var: &e.Process, New: newProcess, Of: (*Process).value}, Examples: []any{map[string]any{"command": []string{"vllm", "serve", "{model}", "--port", "{port}"}}}},
			{Name: "attach", Doc: "use one that runs already", Value: strict.Optional[Attach]{Var: &e.Attach, New: newAttach, Of: (*Attach).value}, Also: []string{"url"}},
			{Name: "docker", Doc: "start it as a container; this version checks these keys and has no launcher for them", Value: strict.Optional[Docker]{Var: &e.Docker, New: newDocker, Of: (*Docker).value}},
			{Name: "stop_grace", Doc: "time between asking the engine to end and killing it", Value: strict.Duration(&e.StopGrace, time.Second, 10*time.Minute)},
			{Name: "api_key", Doc: "name of the environment variable that holds the bearer token of the engine's API", Value: variable(&e.APIKey), Examples: []any{"VLLM_API_KEY"}},
		},
	}
}

func newProcess() *Process { return &Process{ReadyTimeout: defaultReadyTimeout} }

func (p *Process) value() strict.Value {
	return strict.Object{Keys: []strict.Key{
		{Name: "command", Doc: "program and arguments; {model} and {port} are replaced in each, no shell reads them", Value: command(&p.Command), Required: true, Examples: []any{[]string{"vllm", "serve", "{model}", "--port", "{port}"}}, Also: []string{"cmd", "args"}},
		{Name: "dir", Doc: "directory that it is started in; default: the one that servegate is started in", Value: strict.Text(&p.Dir, "a directory", ".", nil), Also: []string{"cwd", "workdir"}},
		{Name: "env", Doc: "environment variables to set", Value: env(&p.Env), Also: []string{"environment"}},
		{Name: "pass_env", Doc: "names of variables of servegate's own environment to pass on, beside a built-in list (PATH, HOME, CUDA_*, HF_*, ...)", Value: variables(&p.PassEnv)},
		{Name: "secrets", Doc: "names of variables to pass on whose values are masked in logs and files", Value: variables(&p.Secrets), Examples: []any{[]string{"HF_TOKEN"}}},
		readyTimeout(&p.ReadyTimeout, "time from its start to the first real token"),
	}}
}

// newAttach waits a short time: a server that runs already is ready or down.
func newAttach() *Attach { return &Attach{ReadyTimeout: 30 * time.Second} }

func (a *Attach) value() strict.Value {
	return strict.Object{Keys: []strict.Key{
		{Name: "url", Doc: "base of its API, without /v1", Value: baseURL(&a.URL), Required: true, Examples: []any{"http://127.0.0.1:8000"}},
		readyTimeout(&a.ReadyTimeout, "time until it answers with a first real token"),
	}}
}

func newDocker() *Docker {
	// Docker's own 64 MiB of shared memory are too few for an engine of several processes.
	return &Docker{ReadyTimeout: defaultReadyTimeout, GPUs: "none", ShmSize: 8 << 30}
}

func (d *Docker) value() strict.Value {
	return strict.Object{Keys: []strict.Key{
		{Name: "image", Doc: "image with its digest", Value: image(&d.Image), Required: true, Examples: []any{"vllm/vllm-openai@sha256:..."}},
		{Name: "args", Doc: "arguments; {model} and {port} are replaced in each", Value: words(&d.Args, 0), Examples: []any{[]string{"--max-num-seqs=256"}}, Also: []string{"command"}},
		{Name: "entrypoint", Doc: "program to start instead of the image's own", Value: words(&d.Entrypoint, 1)},
		{Name: "gpus", Doc: "accelerators that it sees: none, all, a count, or device=ID,ID", Value: gpus(&d.GPUs), Also: []string{"gpu"}},
		{Name: "env", Doc: "environment variables to set", Value: env(&d.Env), Also: []string{"environment"}},
		{Name: "secrets", Doc: "names of variables to pass on whose values are masked in logs and files", Value: variables(&d.Secrets), Examples: []any{[]string{"HF_TOKEN"}}},
		{Name: "mounts", Doc: "SOURCE:TARGET of the host's files that it sees, read-only unless :rw follows", Value: strict.List[Mount]{Var: &d.Mounts, Of: mount, Unique: true}, Examples: []any{[]string{"/models:/models"}}, Also: []string{"volumes"}},
		{Name: "shm_size", Doc: "size of its shared memory", Value: strict.Size(&d.ShmSize)},
		readyTimeout(&d.ReadyTimeout, "time from its start to the first real token"),
	}}
}

const defaultReadyTimeout = 20 * time.Minute

func readyTimeout(v *time.Duration, doc string) strict.Key {
	return strict.Key{Name: "ready_timeout", Doc: doc, Value: strict.Duration(v, time.Second, 24*time.Hour), Also: []string{"timeout", "boot_timeout"}}
}

var (
	commitText   = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	variableText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	gpusText     = regexp.MustCompile(`^(none|all|[1-9][0-9]{0,3}|device=[A-Za-z0-9/:-]+(,[A-Za-z0-9/:-]+)*)$`)
	imageText    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)
	mountText    = regexp.MustCompile(`^([^:]+):(/[^:]*)(?::(ro|rw))?$`)
	hexDigest    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	urlText      = regexp.MustCompile(`^https?://[^\s/?#@]+(/[^\s?#]*)?$`)
)

func commit(v *string) strict.Scalar {
	s := strict.Matching(v, commitText, "7 to 64 hexadecimal digits in lower case", "1f0e3dad99908345f7439f8ffabdffc4f0e3dad9")
	s.Tag, s.Quoted = "", true // a commit may consist of digits only
	s.Rules["type"] = []string{"string", "integer"}
	return s
}

// variable is the name of an environment variable. What stands there by mistake may be
// the secret itself, so it is never shown.
func variable(v *string) strict.Scalar {
	s := strict.Matching(v, variableText, "the name of an environment variable", "HF_TOKEN")
	check := s.Set
	s.Secret = true
	s.Set = func(text string) *strict.Problem {
		if p := check(text); p != nil || secretValue.MatchString(text) {
			return &strict.Problem{Hint: "name the variable that holds the secret; the secret itself never stands in a config"}
		}
		return nil
	}
	return s
}

// secretValue is what the tokens of well-known services look like.
var secretValue = regexp.MustCompile(`^(hf_|ghp_|gho_|ghs_|github_pat_|glpat|xoxb)[A-Za-z0-9_]{16,}$`)

func variables(v *[]string) strict.Value {
	return strict.List[string]{Var: v, Of: func(v *string) strict.Value { return variable(v) }, Unique: true}
}

// env is a mapping of variables to their values. Those that look like secrets belong
// under secrets, since a config is printed into every run directory.
func env(v *map[string]string) strict.Value {
	return strict.Dict[string]{
		Var:  v,
		Name: strict.Name{Pattern: variableText, Expected: "the name of an environment variable", Hint: "letters, digits and _ only"},
		Of: func(name string, v *string) strict.Value {
			s := strict.Word(v, func(text string) *strict.Problem {
				if secretName(name) || secretValue.MatchString(text) {
					return &strict.Problem{What: "the value of a secret (not shown)", Want: "its name under secrets", Hint: "set it in servegate's own environment and name it under secrets: [" + name + "]"}
				}
				return nil
			})
			s.Secret = true
			return s
		},
	}
}

// secretName reports whether a variable of that name most likely holds a secret:
// HF_TOKEN does, TOKENIZERS_PARALLELISM doesn't.
func secretName(name string) bool {
	parts := strings.Split(strings.ToUpper(name), "_")
	for i, part := range parts {
		switch part {
		case "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS":
			return true
		case "KEY":
			if i > 0 && i == len(parts)-1 {
				return true
			}
		}
	}
	return false
}

// secretFlag is an argument of an engine that takes a secret.
var secretFlag = regexp.MustCompile(`^--(admin-)?(api-key|hf-token|token)(=.*)?$`)

func words(v *[]string, least int) strict.Value {
	return strict.List[string]{Var: v, Min: least, Of: func(v *string) strict.Value {
		return strict.Word(v, func(text string) *strict.Problem {
			if secretFlag.MatchString(text) {
				return &strict.Problem{What: "an argument that takes a secret", Want: "none of those", Hint: "hand the secret over in an environment variable named under secrets; arguments are printed into reports"}
			}
			return nil
		})
	}}
}

func command(v *[]string) strict.Value {
	return strict.Checked{
		Value: words(v, 1),
		Check: func(r *strict.Reader, path string) {
			if !strings.Contains(strings.Join(*v, "\x00"), "{port}") {
				r.Report(path, "no argument has {port} in it, expected the port that is chosen for each boot", `add it where the engine takes its port: --port, "{port}"`)
			}
			for _, word := range *v {
				if m := placeholder.FindString(word); m != "" && m != "{port}" && m != "{model}" {
					r.Warn(path, m+" is taken as it stands: only {model} and {port} are replaced")
				}
			}
		},
	}
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

func image(v *string) strict.Scalar {
	return strict.Matching(v, imageText, "an image with its digest", "vllm/vllm-openai@sha256:...")
}

func gpus(v *string) strict.Scalar {
	s := strict.Matching(v, gpusText, "none, all, a count, or device=ID,ID", "all")
	s.Tag = ""
	s.Rules["type"] = []string{"string", "integer"}
	return s
}

func mount(v *Mount) strict.Value {
	var text string
	s := strict.Matching(&text, mountText, "SOURCE:TARGET, SOURCE:TARGET:ro or SOURCE:TARGET:rw", "/models:/models")
	parse := s.Set
	s.Set = func(given string) *strict.Problem {
		if p := parse(given); p != nil {
			return p
		}
		m := mountText.FindStringSubmatch(given)
		if strings.HasSuffix(filepath.Clean(m[1]), "docker.sock") {
			return &strict.Problem{What: "the socket of the docker engine", Hint: "an engine has no use for it, and whoever holds it owns the host"}
		}
		*v = Mount{Source: m[1], Target: m[2], Writable: m[3] == "rw"}
		return nil
	}
	s.Text = func() (string, bool) {
		if v.Writable {
			return v.Source + ":" + v.Target + ":rw", true
		}
		return v.Source + ":" + v.Target, true
	}
	return s
}

// baseURL is the base of an API. People paste it with /v1 and a slash at its end,
// which are cut off.
func baseURL(v *string) strict.Scalar {
	s := strict.Matching(v, urlText, "a URL such as http://127.0.0.1:8000", "http://127.0.0.1:8000")
	check := s.Set
	s.Set = func(text string) *strict.Problem {
		u, err := url.Parse(text)
		if strings.Contains(text, "@") {
			return &strict.Problem{What: "a URL with credentials", Hint: "remove them, and name the variable with the key under engine.api_key"}
		}
		if p := check(text); p != nil || err != nil || u.Hostname() == "" {
			return &strict.Problem{Hint: "write scheme, host and port: http://127.0.0.1:8000"}
		}
		*v = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(text, "/"), "/v1"), "/")
		return nil
	}
	return s
}
