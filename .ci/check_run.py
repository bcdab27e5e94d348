"""Look at a run directory as a reader that shares no code with servegate.

usage: check_run.py DIR

Exits 1 and says why where the run is not complete, where a cell lacks a valid repetition,
or where what was measured can't be so.
"""

import json
import pathlib
import sys


def faults(run):
    if run.get("schema") != "servegate.run/v1":
        yield f"schema is {run.get('schema')!r}"
    if not run.get("complete"):
        yield f"the run is not complete: {run.get('incomplete', 'no reason given')}"
    if not run.get("cells"):
        yield "the run has no cells"
    for cell in run.get("cells", []):
        valid = [r for r in cell.get("repetitions", []) if r["valid"]]
        for r in cell.get("repetitions", []):
            if not r["valid"]:
                print(f"{cell['id']} repetition {r['index']} is invalid: {'; '.join(r['invalid_reasons'])}")
        if not valid:
            yield f"{cell['id']}: no valid repetition"
        for r in valid:
            yield from (f"{cell['id']} repetition {r['index']}: {fault}" for fault in odd(r))


def odd(repetition):
    requests, metrics = repetition["requests"], repetition["metrics"]
    if requests["issued"] < 100 or requests["ok"] != requests["issued"]:
        yield f"requests {requests}"
    if not 0 < metrics["ttft"]["p50"] <= metrics["e2e"]["p50"] < 60:
        yield f"TTFT p50 {metrics['ttft']['p50']}, E2E p50 {metrics['e2e']['p50']}"
    if not 0 < metrics["itl"]["p50"] < 5:
        yield f"ITL p50 {metrics['itl']['p50']}"


def summary(run):
    for cell in run["cells"]:
        for r in cell["repetitions"]:
            m = r["metrics"]
            print(
                f"{cell['id']:10} {r['index']} valid={r['valid']} "
                f"goodput={m['goodput']['value']:.1f}/s ttft.p50={m['ttft']['p50'] * 1e3:.2f}ms "
                f"itl.p50={m['itl']['p50'] * 1e3:.2f}ms stamps={r['stamps']} engine={r['engine']}"
            )


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    run = json.loads((pathlib.Path(sys.argv[1]) / "run.json").read_text())
    found = list(faults(run))
    if found:
        sys.exit("\n".join(found))
    summary(run)


if __name__ == "__main__":
    main()
