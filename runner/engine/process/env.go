package process

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// passedOn are the variables that an engine inherits without being told so: what it
// takes to find programs, libraries, devices, models, caches and the network. What
// changes how an engine computes (VLLM_*, SGLANG_*, OMP_NUM_THREADS, CUDA_LAUNCH_BLOCKING,
// PYTHONPATH, LD_PRELOAD, ...) is not among them: two runs whose numbers are compared
// would differ by something that neither shows. It is declared, under env or pass_env.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TMPDIR", "TZ",
	"LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
	"CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
	"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY",
	"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
	"ROCM_HOME", "ROCM_PATH", "HIP_PATH", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
	"ASCEND_RT_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
	"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE",
	"HF_ENDPOINT", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "MODELSCOPE_CACHE",
	"OLLAMA_MODELS", "LLAMA_CACHE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
	"VLLM_CACHE_ROOT", "TORCH_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// PassedOn tells whether a variable of ours reaches every engine: see the list of names
// in the source. LC_* do as well.
func PassedOn(name string) bool {
	return slices.Contains(passedOn, name) || strings.HasPrefix(name, "LC_")
}

// credentialSuffixes end the names of variables whose values are masked unasked.
var credentialSuffixes = []string{"_TOKEN", "_KEY", "_SECRET", "_PASSWORD"}

// minCredential is the length from which such a value is taken for a credential; what
// is shorter is more likely a switch.
const minCredential = 8

// environment returns the engine's environment out of ours, the names that were asked
// for and aren't set, and the values to mask. Later sources beat earlier ones: the
// allowlist, PassEnv, Secrets, Env.
func environment(l Launcher, ours []string) (env, unset, secrets []string) {
	have := map[string]string{}
	for _, kv := range ours {
		if name, value, ok := strings.Cut(kv, "="); ok {
			have[name] = value
		}
	}
	set := map[string]string{}
	for name, value := range have {
		if PassedOn(name) {
			set[name] = value
		}
	}
	for _, name := range slices.Concat(l.PassEnv, l.Secrets) {
		if value, ok := have[name]; ok {
			set[name] = value
		} else if _, ok := l.Env[name]; !ok {
			unset = append(unset, name)
		}
	}
	maps.Copy(set, l.Env)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
		if slices.Contains(l.Secrets, name) || credential(name, set[name]) {
			secrets = append(secrets, set[name])
		}
	}
	return env, unset, secrets
}

// credential tells whether a variable looks like one that holds a credential.
func credential(name, value string) bool {
	if len(value) < minCredential {
		return false
	}
	name = strings.ToUpper(name)
	return slices.ContainsFunc(credentialSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

// lookProgram finds the program as the engine's own environment would: by its PATH, or
// relative to its working directory. It returns an absolute path.
func lookProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if err := executable(name); err != nil {
			return "", refuse(programRemedy(err), "run program %q: %w", name, err)
		}
		return absolute(name)
	}
	path := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		// A relative entry would run whatever a checkout brings along.
		if !filepath.IsAbs(folder) {
			continue
		}
		if file := filepath.Join(folder, name); executable(file) == nil {
			return file, nil
		}
	}
	return "", refuse("install the engine, or give the full path of the program",
		"find program %q: %w in PATH (%s)", name, fs.ErrNotExist, path)
}

func absolute(name string) (string, error) {
	file, err := filepath.Abs(name)
	if err != nil {
		return "", refuse("", "run program %q: %w", name, err)
	}
	return file, nil
}

// executable returns why a file can't be run, or nil.
func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return cause(err)
	case info.IsDir():
		return errFolder
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		return fmt.Errorf("not executable: %w", err)
	}
	return nil
}

var errFolder = fmt.Errorf("it is a folder: %w", fs.ErrPermission)

// programRemedy says what to do about a program that can't be run.
func programRemedy(err error) string {
	switch {
	case errors.Is(err, errFolder):
		return "name the program in it"
	case errors.Is(err, fs.ErrPermission):
		return "make it executable: chmod +x"
	}
	return "check the path; a relative one counts from the engine's working directory"
}
