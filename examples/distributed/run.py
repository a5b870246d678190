"""Distributed: 100,000 lattices on a Dask cluster, one of whose workers is killed on the way.

The cluster is one of local processes; on a real one only the address differs. The lattices are
those that come with fstmetrics, pruned, again and again under new ids. The command runs once in
one process and once on the cluster, where a worker is killed while it is at work; the two files
have to be the same, byte for byte: pip install 'fstmetrics[dask]'
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lattices
from decoding import sample_data

# Dask says at length that a worker has died, here and in the command; we know
os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
try:
    import distributed
except ImportError:
    sys.exit("distributed is missing: pip install 'fstmetrics[dask]'")


def write_corpus(folder: Path, count: int) -> None:
    """Write lattices and references, ``count`` of each."""
    references = dict(
        line.split(" ", 1) for line in (sample_data() / "refs.txt").read_text().splitlines()
    )
    small = [
        lattices.prune(next(lattices.read(sample_data() / f"{name}.slf.gz")), density=4.0)
        for name in references
    ]
    # only the id differs from one copy to the next: a line is made once for each lattice
    lattices.write(folder / "few.jsonl", [space.replaced(id="@@") for space in small])
    lines = (folder / "few.jsonl").read_text().splitlines(keepends=True)
    texts = list(references.values())
    with open(folder / "many.jsonl", "w") as many, open(folder / "refs.txt", "w") as refs:
        for number in range(count):
            many.write(lines[number % len(lines)].replace('"@@"', f'"s{number}"', 1))
            refs.write(f"s{number} {texts[number % len(texts)]}\n")


def command(folder: Path, output: str, *options: str) -> subprocess.Popen[bytes]:
    argv = ["oracle", "many.jsonl", "--refs", "refs.txt", "--metric", "wer", "-o", output, *options]
    return subprocess.Popen([sys.executable, "-m", "fstmetrics", *argv], cwd=folder)


def finish(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        sys.exit(f"the command ended with {process.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="how many lattices")
    parser.add_argument("--workers", type=int, default=2, help="processes of the cluster")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder, args.count)
        size = (folder / "many.jsonl").stat().st_size
        print(f"{args.count:,} lattices, {size / 1e6:.0f} MB; in one process:", flush=True)
        finish(command(folder, "alone.tsv"))
        with distributed.LocalCluster(
            n_workers=args.workers, threads_per_worker=1, dashboard_address=None
        ) as cluster, distributed.Client(cluster, set_as_default=False) as client:  # fmt: skip
            print(f"\non {args.workers} workers, one of which is killed:", flush=True)
            began = time.monotonic()
            running = command(folder, "cluster.tsv", "--dask", cluster.scheduler_address)
            busy: list[str] = []
            while not busy and running.poll() is None:
                busy = [worker for worker, tasks in client.processing().items() if tasks]
                time.sleep(0.01)
            if not busy:
                sys.exit("it was done before a worker could be killed: take a larger --count")
            victim = client.run(os.getpid)[busy[0]]
            os.kill(victim, signal.SIGKILL)
            print(f"killed process {victim} after {time.monotonic() - began:.1f} s", flush=True)
            finish(running)
        alone, cluster_file = (folder / "alone.tsv").read_bytes(), folder / "cluster.tsv"
        if cluster_file.read_bytes() != alone:
            sys.exit("the two files differ")
        print(f"\nthe same {len(alone.splitlines()):,} lines, byte for byte: nothing was lost")


if __name__ == "__main__":
    main()
