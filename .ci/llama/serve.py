"""Serve a model with llama.cpp's own HTTP server until SIGTERM or SIGINT.

The prebuilt wheel xllamacpp holds the same native server as llama-server, but takes
its options as attributes of an object instead of flags: this gives it a command line.
"""

import argparse
import signal
import threading

import xllamacpp


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="GGUF file")
    parser.add_argument("--alias", help="name that the API gives to the model; default: the file's")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--np", type=int, default=4, help="slots: requests that are served at once")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ctx", type=int, default=8192, help="tokens of context, shared by the slots")
    return parser.parse_args()


def params(args):
    p = xllamacpp.CommonParams()
    p.model.path = args.model
    if args.alias:
        p.model_alias = {args.alias}
    p.hostnames = [args.host]
    p.port = args.port
    p.n_parallel = args.np
    p.n_ctx = args.ctx
    p.cpuparams.n_threads = args.threads
    p.cpuparams_batch.n_threads = args.threads
    p.endpoint_metrics = True
    p.endpoint_slots = True
    return p


def main():
    stop = threading.Event()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: stop.set())
    server = xllamacpp.Server(params(arguments()))
    print(f"listening on {server.listening_address}", flush=True)
    stop.wait()
    del server  # stops its threads and closes the socket
    print("stopped", flush=True)


if __name__ == "__main__":
    main()
