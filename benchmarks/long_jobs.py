"""One search of one long lattice, in a process of its own: ``long_jobs.py JOB FILE``.

It runs under any version since 0a68d2e and prints the seconds of the processor, the megabytes it
takes beside the lattice, and what it found, as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

#: no job may take more: it ends there instead of taking the machine along
ADDRESSES = 8 << 30


def megabytes(field: str) -> float:
    """Return a line of what Linux tells of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def main() -> None:
    """Run the job that the command line names."""
    name, file = sys.argv[1:]
    import lattices
    from decoding import oracle, worst
    from decoding.minimum_risk.edit import edit
    from fstmetrics import parse_metric

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    space: Any = next(lattices.read(file))
    kind, _, metric = name.partition(" ")

    def search() -> dict[str, Any]:
        if kind == "edit":
            decision = edit(space)
            return {"score": decision.expected, "exact": decision.proven}
        evaluator = parse_metric(metric).against(list(space.references))
        found = worst(space, evaluator)[0] if kind == "worst" else oracle(space, evaluator)
        return {"score": found.score, "exact": found.exact, "bound": found.bound}

    # scratch memory that is returned, and what is imported
    Path("/proc/self/clear_refs").write_text("5")
    before, began = megabytes("VmRSS"), time.process_time()
    try:
        answer = search()
    except lattices.Error as problem:
        answer = {"refused": str(problem)}
    answer["seconds"] = time.process_time() - began
    answer["megabytes"] = max(0.0, megabytes("VmHWM") - before)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
