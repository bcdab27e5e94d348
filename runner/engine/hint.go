package engine

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"syscall"
)

// LaunchError says why an engine could not be started or found at all.
type LaunchError struct {
	Err    error
	Remedy string // what to do about it; may be empty
}

func (e *LaunchError) Error() string { return "launch engine: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LaunchError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *LaunchError) Hint() string { return e.Remedy }

var inUse = regexp.MustCompile(`(?i)address (is )?already in use|EADDRINUSE|\bport \d+ is (already )?in use|only one usage of each socket address|couldn't bind to server socket`)

// AddressInUse tells whether the lines of a log say that a port was taken.
func AddressInUse(lines []string) bool { return inUse.MatchString(strings.Join(lines, "\n")) }

// knownDeaths are the ways in which engines are known to die at boot, most telling first:
// what the log says, and what to do about it.
var knownDeaths = []struct {
	says   *regexp.Regexp
	remedy string
}{
	{inUse, "another process holds a port that the engine wants: is an engine of an earlier run still alive?"},
	{
		regexp.MustCompile(`(?i)out of memory|OutOfMemoryError|no available memory for the cache blocks|less than desired GPU memory utilization|failed to allocate .*buffer|std::bad_alloc|larger than the maximum number of tokens that can be stored in KV cache`),
		"the engine did not get the memory it wants: see what else holds the accelerator's memory (nvidia-smi), or lower the engine's share of it, its context length or its batch size",
	},
	{
		regexp.MustCompile(`(?i)gated repo|GatedRepoError|401 Client Error|Repository Not Found|RepositoryNotFoundError`),
		"the model could not be fetched: check its name, and for a gated one name the variable with the token under secrets (HF_TOKEN)",
	},
	{
		regexp.MustCompile(`(?i)unrecognized arguments?|unknown (argument|option|flag)|invalid argument: -|no such option|unexpected argument`),
		"this version of the engine doesn't know one of its arguments",
	},
	{
		regexp.MustCompile(`(?i)no space left on device`),
		"a disk is full: free some space, or move the model cache (HF_HOME)",
	},
	{
		regexp.MustCompile(`(?i)No CUDA GPUs are available|no CUDA-capable device|CUDA driver version is insufficient|Failed to infer device type|nvml.*(not found|error)`),
		"the engine sees no usable accelerator: check nvidia-smi, the driver's version and CUDA_VISIBLE_DEVICES",
	},
	{
		regexp.MustCompile(`(?i)error while loading shared libraries|cannot open shared object file|ModuleNotFoundError|ImportError`),
		"a library of the engine is missing: was it installed for this environment (LD_LIBRARY_PATH, PYTHONPATH under pass_env)?",
	},
	{
		regexp.MustCompile(`(?i)command not found|: not found$`),
		"the command starts a program that isn't in PATH: install it, or give its full path",
	},
}

// hint finds the remedy for a boot that failed.
func hint(e *NotReadyError) string {
	if errors.Is(e.Err, context.Canceled) {
		return ""
	}
	log := strings.Join(e.LastLines, "\n")
	for _, known := range knownDeaths {
		if known.says.MatchString(log) {
			return known.remedy
		}
	}
	if e.Exit != nil {
		return exitHint(*e.Exit)
	}
	var answer *answerError
	if errors.As(e.Err, &answer) || e.Stage == StageBoot && errors.As(e.LastProbe, &answer) {
		return answerHint(answer)
	}
	if e.Stage == StageBoot {
		return waitHint(e)
	}
	return ""
}

// waitHint goes by what became of the last poll of an engine that was waited for in vain.
func waitHint(e *NotReadyError) string {
	const patience = "raise ready_timeout if it needs longer"
	switch {
	case !errors.Is(e.Err, context.DeadlineExceeded):
		return ""
	case errors.Is(e.LastProbe, syscall.ECONNREFUSED):
		return "nothing listens there: are host and port right? " + patience
	case e.LastProbe == nil, errors.Is(e.LastProbe, context.DeadlineExceeded):
		return "it takes the connection and doesn't answer: is it an HTTP server? " + patience
	}
	return "what listens there doesn't speak plain HTTP: are the port and http:// or https:// right?"
}

// exitHint goes by the exit alone.
func exitHint(e Exit) string {
	switch {
	case e.Stopped:
		return ""
	case e.Signal == "SIGKILL":
		return "something outside killed it, most often the kernel for lack of memory: see dmesg"
	case e.Signal == "SIGSEGV", e.Signal == "SIGABRT", e.Signal == "SIGILL", e.Signal == "SIGBUS":
		return "it crashed: a build for another processor or driver does that"
	case e.Code == 0:
		return "a server that ends without an error was often told to go into the background: keep it in the foreground"
	case e.Code == 126:
		return "the command starts a program that can't be executed: check its mode bits"
	case e.Code == 127:
		return "the command starts a program that isn't in PATH: install it, or give its full path"
	}
	return ""
}

// answerHint goes by what the server answered.
func answerHint(a *answerError) string {
	switch {
	case a.html && a.status == http.StatusOK:
		return "a web page answers there, not an engine's API: check host and port"
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return "the server wants a key: name the variable that holds it under engine.api_key"
	case a.absent():
		return "the server knows none of the usual routes: is the URL the base of an OpenAI-compatible API, without /v1?"
	case a.status >= 300 && a.status < 400:
		return "give the URL that it redirects to"
	}
	return "the server answers, but not as one that is up: see its log, or raise ready_timeout if it needs longer"
}
