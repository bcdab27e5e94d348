"""Print a servegate.yaml for a real engine. JSON is YAML.

usage: config.py {measure,gate} KIND READY_TIMEOUT ENVIRONMENT COMMAND

ENVIRONMENT (lines of NAME=value) and COMMAND (a line a word) are the engine's. Client and
engine share the machine's cores here, so that all loads are light.
"""

import json
import sys

# An open and a closed loop.
MEASURE = {
    "workloads": {
        "ids": {"input": 64, "output": 24},
        # Long enough for the words that the template puts in front of every prompt, which are
        # cached, to be a small part of it.
        "chat": {"input": 192, "output": 16, "api": "chat"},
    },
    "loads": {"two": {"closed": 2}},
    "matrix": {"pull_request": ["ids@two", "ids@near", "chat@two"]},
    "measure": {"requests": 300, "repetitions": 2},
}
RATES = {"openai": "25/s", "vllm": "8/s"}

# Answers are long and prompts short: eight streams that have to take turns wait for answers,
# and that shows in TTFT however busy the machine is. A repetition takes 2 to 5 seconds. The
# tolerances are wide, because base and head are measured one after the other on a machine
# that others share.
GATE = {
    "workloads": {"ids": {"input": 16, "output": 64}},
    "loads": {"eight": {"closed": 8}},
    "measure": {"requests": 160, "repetitions": 5, "baseline_repetitions": 5},
    "gate": {"tolerances": "40%", "must_catch": "80%"},
}


def config(purpose, kind, ready_timeout, environment, command):
    process = {
        "command": command.split("\n"),
        "ready_timeout": ready_timeout,
        "env": dict(line.split("=", 1) for line in environment.split("\n")),
    }
    top = {
        "version": 1,
        "engine": {"kind": kind, "process": process},
        "model": "servegate-random",
        "slo": {"ttft": "500ms", "itl": "100ms"},
    }
    if purpose == "gate":
        return top | GATE
    return top | MEASURE | {"loads": MEASURE["loads"] | {"near": {"poisson": RATES[kind]}}}


def main():
    if len(sys.argv) != 6 or sys.argv[1] not in ("measure", "gate"):
        sys.exit(__doc__)
    print(json.dumps(config(*sys.argv[1:]), indent=2))


if __name__ == "__main__":
    main()
