"""Look at a run directory as a reader that shares no code with servegate.

usage: check_run.py DIR STATUS

STATUS is what servegate run exited with. Exits 1 and says why where the run is not
complete, where a cell lacks a valid repetition, or where what was measured can't be so;
75 where the only fault is that the client was late, as it is on a busy machine, and 76
where that left no cell at all.
"""

import json
import pathlib
import sys

BUSY, NOTHING = 75, 76
LATE = "the client was late"


def faults(run):
    """Yields what is wrong, with whether lateness explains it."""
    if run.get("schema") != "servegate.run/v1":
        yield f"schema is {run.get('schema')!r}", False
    if not run.get("complete"):
        yield f"the run is not complete: {run.get('incomplete', 'no reason given')}", False
    if len(run.get("cells", [])) != 3:
        yield f"the run has {len(run.get('cells', []))} cells, the config 3", False
    for cell in run.get("cells", []):
        valid = [r for r in cell["repetitions"] if r["valid"]]
        if len(valid) < 2: # one that was repeated with success is no fault
            reasons = [reason for r in cell["repetitions"] for reason in r.get("invalid_reasons", [])]
            late = bool(reasons) and all(reason.startswith(LATE) for reason in reasons)
            yield f"{cell['id']}: {len(valid)} valid repetitions, the config has 2: {'; '.join(reasons)}", late
        for r in cell["repetitions"]:
            yield from ((f"{cell['id']} repetition {r['index']}: {fault}", False) for fault in odd(r))


def odd(repetition):
    """What can't be so, on any machine."""
    requests, metrics = repetition["requests"], repetition["metrics"]
    if requests["issued"] < 300 or requests["ok"] != requests["issued"]:
        yield f"requests {requests}"
    ttft, itl, e2e = (metrics.get(name, {}).get("p50") for name in ("ttft", "itl", "e2e"))
    if None in (ttft, itl, e2e) or not 0 < ttft <= e2e < 60 or not 0 < itl < 5:
        yield f"median TTFT {ttft}, ITL {itl}, E2E {e2e}"


def summary(run):
    for cell in run["cells"]:
        for r in (r for r in cell["repetitions"] if r["valid"]):
            m = r["metrics"]
            print(
                f"{cell['id']:10} {r['index']} goodput={m['goodput']['value']:.1f}/s "
                f"ttft.p50={m['ttft']['p50'] * 1e3:.2f}ms itl.p50={m['itl']['p50'] * 1e3:.2f}ms "
                f"stamps={r['stamps']} engine={r['engine']}"
            )


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    directory, status = sys.argv[1:]
    run = json.loads((pathlib.Path(directory) / "run.json").read_text())
    found = list(faults(run))
    for fault, _ in found:
        print(fault)
    if found and all(late for _, late in found):
        summary(run)
        sys.exit(BUSY if any(sum(r["valid"] for r in cell["repetitions"]) == 2 for cell in run["cells"]) else NOTHING)
    if found or status != "0":
        sys.exit(f"servegate run exited {status}")
    summary(run)


if __name__ == "__main__":
    main()
