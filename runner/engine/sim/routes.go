package sim

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/servegate/servegate/runner/engine/sim/wire"
)

// maxBody bounds a request's body; a prompt of a million token ids has 7 MB.
const maxBody = 64 << 20

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.getHealth)
	mux.HandleFunc("GET /ping", s.getHealth)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": s.opts.Version})
	})
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("GET /v1/models", s.guard(s.getModels))
	mux.HandleFunc("POST /v1/completions", s.guard(s.generate(wire.ParseCompletion)))
	mux.HandleFunc("POST /v1/chat/completions", s.guard(s.generate(wire.ParseChat)))
	mux.HandleFunc("POST /tokenize", s.guard(s.convert(func(body []byte) ([]byte, *wire.Error) {
		return wire.Tokenize(body, s.limits())
	})))
	mux.HandleFunc("POST /detokenize", s.guard(s.convert(wire.Detokenize)))
	if s.opts.DevMode {
		mux.HandleFunc("GET /server_info", s.getServerInfo)
		mux.HandleFunc("POST /reset_prefix_cache", s.guard(s.postReset))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
	})
	return mux
}

func (s *Server) limits() wire.Limits {
	return wire.Limits{Model: s.opts.Model, MaxModelLen: s.opts.Scheduler.MaxModelLen}
}

// guard lets a request through once the engine is up, if it has the key where one is
// asked for.
func (s *Server) guard(next http.HandlerFunc) http.HandlerFunc {
	want := []byte("Bearer " + s.opts.APIKey)
	return func(w http.ResponseWriter, r *http.Request) {
		if s.opts.LogCalls {
			s.log.info("access", "%s - \"%s %s %s\"", r.RemoteAddr, r.Method, r.URL.Path, r.Proto)
		}
		if s.opts.APIKey != "" && strings.HasPrefix(r.URL.Path, "/v1/") &&
			subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
			return
		}
		if condition(s.health.Load()) == booting {
			writeError(w, wire.Starting())
			return
		}
		next(w, r)
	}
}

func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) {
	if condition(s.health.Load()) != ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (s *Server) getModels(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data": []map[string]any{{
			"id": s.opts.Model, "object": "model", "created": s.created.Unix(), "owned_by": s.opts.OwnedBy,
			"root": s.opts.Model, "parent": nil, "max_model_len": s.opts.Scheduler.MaxModelLen,
		}},
	})
}

// postReset answers as vLLM does: 200 in any case, and whether it was done.
func (s *Server) postReset(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]bool{"success": s.engine.resetPrefixCache()})
}

// getServerInfo describes the engine in the shape of vLLM's route, with the parts that
// exist here; the simulation's own options stand beside them, under their flags' names.
func (s *Server) getServerInfo(w http.ResponseWriter, r *http.Request) {
	o := &s.opts
	config := map[string]any{
		"model_config": map[string]any{
			"model": o.Model, "revision": nil, "dtype": "bfloat16", "quantization": nil,
			"max_model_len": o.Scheduler.MaxModelLen, "seed": o.Seed,
		},
		"parallel_config": map[string]any{
			"tensor_parallel_size": 1, "pipeline_parallel_size": 1, "data_parallel_size": 1, "enable_expert_parallel": false,
		},
		"cache_config": map[string]any{
			"block_size": o.Scheduler.BlockSize, "num_gpu_blocks": o.Scheduler.Blocks,
			"cache_dtype": "auto", "enable_prefix_caching": o.Scheduler.PrefixCaching,
		},
		"scheduler_config": map[string]any{
			"max_num_batched_tokens": o.Scheduler.MaxBatchedTokens, "max_num_seqs": o.Scheduler.MaxSeqs,
			"enable_chunked_prefill": o.Scheduler.ChunkedPrefill, "policy": "fcfs",
		},
		"speculative_config": map[string]any{"num_speculative_tokens": o.Scheduler.DraftTokens, "synthetic_acceptance_length": o.AcceptanceLength},
	}
	info := map[string]any{
		"vllm_config": config, "vllm_env": map[string]any{}, "system_env": map[string]any{},
		"sim": map[string]any{"boot": s.bootNumber, "flags": o.flagValues()},
	}
	if r.URL.Query().Get("config_format") != "json" {
		info["vllm_config"] = fmt.Sprint(config)
	}
	writeJSON(w, http.StatusOK, info)
}

// convert serves a route that turns one body into another.
func (s *Server) convert(f func([]byte) ([]byte, *wire.Error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, fault := readBody(w, r)
		if fault == nil {
			body, fault = f(body)
		}
		if fault != nil {
			writeError(w, fault)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *wire.Error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, wire.NotJSON()
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, &wire.Error{Status: http.StatusRequestEntityTooLarge, Type: "Request Entity Too Large", Message: err.Error()}
	}
	return body, nil
}

func writeError(w http.ResponseWriter, fault *wire.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(fault.Status)
	_, _ = w.Write(fault.Append(nil)) // a client that is gone needs no answer
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // as above
}
