"""The long run: ``python -m tests.decoding.random_commands --cases 100000``."""

from __future__ import annotations

import argparse
import time

from tests.decoding.random_commands.commands import run_cases


def main() -> None:
    """Run so many cases and print how much was checked, by kinds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started = time.process_time()
    total = run_cases(arguments.cases, arguments.seed)
    for name in sorted(total):
        print(f"{total[name]:>12,}  {name}")
    others = (": cases", "left open by rounding", "proven within limits")
    compared = [name for name in total if ": " in name and not name.endswith(others)]
    checks = sum(total[name] for name in compared)
    print(f"{checks:>12,}  checks in {time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
