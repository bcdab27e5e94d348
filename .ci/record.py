"""Record what a real engine answers, byte for byte, as test fixtures.

usage: record.py {llamacpp,vllm} HOST:PORT DIR
       record.py wait HOST:PORT SECONDS     until it answers /health with 200

For each case DIR gets NAME.request (what was sent) and NAME.response (status line,
headers and body exactly as they came, chunked framing included), so that a test can
replay them with http.ReadRequest and http.ReadResponse. Standard library only.
"""

import json
import pathlib
import socket
import sys
import time

MODEL = "servegate-random"
JSON = {"Content-Type": "application/json"}
KEEP = "keep-alive"
IDS = [3 + (7 * i) % 200 for i in range(24)]
MESSAGES = [{"role": "user", "content": "Write a short story about a lighthouse."}]
USAGE = {"include_usage": True}


def post(path, body, headers=JSON):
    return "POST", path, headers, body if isinstance(body, str) else json.dumps(body)


def get(path):
    return "GET", path, {}, ""


def completion(**more):
    base = {"model": MODEL, "prompt": IDS, "max_tokens": 20, "temperature": 1.0, "seed": 7, "ignore_eos": True}
    return post("/v1/completions", base | more)


def chat(**more):
    base = {"model": MODEL, "messages": MESSAGES, "max_tokens": 20, "temperature": 1.0, "seed": 7, "ignore_eos": True}
    return post("/v1/chat/completions", base | more)


def halves(bias):
    """Makes llama.cpp's model choose bytes that begin a character more often."""
    return {str(3 + byte): bias for byte in range(0xC0, 0x100)}


# In order: the metrics before and after bracket what lies between them.
COMMON = {
    "health": get("/health"),
    "models": get("/v1/models"),
    "metrics-before": get("/metrics"),
    "completions-ids-stream": completion(stream=True, stream_options=USAGE),
    "completions-ids-stream-again": completion(stream=True, stream_options=USAGE),
    "completions-text-stream": completion(prompt="Once upon a time there was", stream=True, stream_options=USAGE),
    "completions-one-token-stream": completion(max_tokens=1, stream=True, stream_options=USAGE),
    "completions-without-usage-stream": completion(stream=True),
    "completions-logprobs-stream": completion(stream=True, stream_options=USAGE, logprobs=1, max_tokens=4),
    "completions-two-choices-stream": completion(stream=True, stream_options=USAGE, n=2, max_tokens=6),
    "completions-return-token-ids-stream": completion(stream=True, stream_options=USAGE, return_token_ids=True),
    "completions-continuous-usage-stream": completion(
        stream=True, stream_options=USAGE | {"continuous_usage_stats": True}
    ),
    "completions-kept-stream": completion(stream=True, stream_options=USAGE, max_tokens=4) + (KEEP,),
    "completions-plain": completion(),
    "chat-stream": chat(stream=True, stream_options=USAGE),
    "chat-plain": chat(),
    "metrics-after": get("/metrics"),
    "tokenize": post("/tokenize", {"model": MODEL, "prompt": "Once upon a time", "content": "Once upon a time"}),
    "error-not-json": post("/v1/completions", "{"),
    "error-no-prompt": post("/v1/completions", {"model": MODEL, "max_tokens": 4}),
    "error-unknown-model": completion(model="no-such-model", max_tokens=2),
    "error-past-context": completion(prompt=[5] * 5000, max_tokens=2),
    "error-negative-max-tokens": completion(max_tokens=-7, stream=True),
    "error-id-out-of-vocabulary": completion(prompt=[10**7], max_tokens=2, stream=True),
    "error-no-content-type": post("/v1/completions", {"model": MODEL, "prompt": [5], "max_tokens": 2}, {}),
    "error-no-route": get("/no-such-route"),
}
OWN = {
    "llamacpp": {
        "props": get("/props"),
        "slots": get("/slots"),
        "completions-not-cached-stream": completion(stream=True, stream_options=USAGE, cache_prompt=False),
        "completions-held-back-stream": completion(stream=True, stream_options=USAGE, logit_bias=halves(7)),
        "completions-all-held-back-stream": completion(stream=True, stream_options=USAGE, logit_bias=halves(50)),
    },
    "vllm": {
        "version": get("/version"),
        "server-info-json": get("/server_info?config_format=json"),
        "reset-prefix-cache": post("/reset_prefix_cache", ""),
        "completions-stop-stream": completion(stream=True, stream_options=USAGE, stop_token_ids=list(range(3, 259))),
    },
}


def closes(peer):
    peer.settimeout(1)
    try:
        return peer.recv(1) == b""
    except TimeoutError:
        return False


def exchange(address, method, path, headers, body, connection="close"):
    host, port = address.rsplit(":", 1)
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Accept: */*", f"Connection: {connection}"]
    if method == "POST":
        headers = headers | {"Content-Length": str(len(body.encode()))}
    lines += [f"{name}: {value}" for name, value in headers.items()]
    request = ("\r\n".join(lines) + "\r\n\r\n" + body).encode()
    received = b""
    with socket.create_connection((host, int(port)), timeout=120) as peer:
        peer.sendall(request)
        while data := peer.recv(65536):
            received += data
            if connection == KEEP and received.endswith(b"\r\n0\r\n\r\n"):
                print("the connection is", "closed after" if closes(peer) else "open after", end=" ")
                break
    return request, received


def wait(address, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            _, response = exchange(address, *get("/health"))
            if response.startswith(b"HTTP/1.1 200"):
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"{address} is not healthy after {seconds} s")


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "wait":
        return wait(sys.argv[2], float(sys.argv[3]))
    if len(sys.argv) != 4 or sys.argv[1] not in OWN:
        sys.exit(__doc__)
    engine, address, directory = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    for name, case in (COMMON | OWN[engine]).items():
        request, response = exchange(address, *case)
        (directory / f"{name}.request").write_bytes(request)
        (directory / f"{name}.response").write_bytes(response)
        print(f"{len(response):7d} bytes  {response.splitlines()[0].decode()}  {name}")


if __name__ == "__main__":
    main()
