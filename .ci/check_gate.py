"""Look at a verdict as a reader that shares no code with servegate.

usage: check_gate.py DIR STATUS RESULT...

DIR holds verdict.json, STATUS is what servegate gate exited with, the RESULTs are what the
verdict may be. Exits 1 where servegate contradicts itself, or passes what must not pass; 75
where the client was late; 76 where noise may have hidden a change or looked like one. On a
busy machine both can be, and measuring once more tells.
"""

import json
import math
import pathlib
import statistics
import sys

BUSY, CHANCE = 75, 76
EXITS = {"passed": 0, "improved": 0, "regressed": 1, "invalid": 3, "inconclusive": 4, "not_comparable": 5, "no_baseline": 5}
LATE = "the client was late"


def contradictions(verdict, status):
    if verdict.get("schema") != "servegate.verdict/v1":
        yield f"schema is {verdict.get('schema')!r}"
    if EXITS.get(verdict["result"]) != status:
        yield f"the verdict is {verdict['result']}, the exit code {status}"
    rows = [row for cell in verdict["cells"] for row in cell.get("rows", []) if row["gating"]]
    if verdict["result"] in ("passed", "improved", "regressed", "inconclusive") and len(rows) < 5:
        yield f"only {len(rows)} rows gate"
    results = [row["result"] for row in rows] + [cell["errors"]["result"] for cell in verdict["cells"] if "errors" in cell]
    if ("regressed" in results) != (verdict["result"] == "regressed"):
        yield f"the verdict is {verdict['result']}, its rows are {results}"
    for row in rows:
        yield from odd(row)


def odd(row):
    """What doesn't follow from the repetitions' values that stand beside it."""
    name = f"{row['metric']}.{row['statistic']}"
    if row["base_n"] != 5 or row["head_n"] != 5:
        yield f"{name}: {row['base_n']} against {row['head_n']} repetitions, the config has 5"
    base, head = (statistics.geometric_mean(row[side]) for side in ("base_values", "head_values"))
    if not math.isclose(row["change"], head / base - 1, rel_tol=1e-6, abs_tol=1e-9):
        yield f"{name}: the change is {row['change']}, by its values {head / base - 1}"


def late(verdict):
    """Whether nothing is wrong but that this machine had no time for the client."""
    reasons = [reason for cell in verdict["cells"] for reason in cell.get("invalid", [])]
    return verdict["result"] == "invalid" and bool(reasons) and all(LATE in reason for reason in reasons)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    directory, status, allowed = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    verdict = json.loads((pathlib.Path(directory) / "verdict.json").read_text())
    if found := list(contradictions(verdict, status)):
        sys.exit("\n".join(found))
    result = verdict["result"]
    if result in allowed:
        return
    print(f"the verdict is {result}, not {' or '.join(allowed)}")
    if late(verdict):
        sys.exit(BUSY)
    by_chance = {"regressed", "inconclusive"} | ({"improved"} if "passed" in allowed else set())
    sys.exit(CHANCE if result in by_chance else 1)


if __name__ == "__main__":
    main()
