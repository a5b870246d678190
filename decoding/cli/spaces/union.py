"""``fstmetrics union``: lattices of several systems as one lattice a segment."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from decoding.cli.terminal import Progress, detail, note, progress
from decoding.cli.writing import prepare_results, target_of, write_outcomes

if TYPE_CHECKING:
    from decoding.corpus.encoding import Ready, Target
    from decoding.corpus.runner import Done, Failure
    from lattices.spaces import Space

SUMMARY = "lattices of several systems as one lattice a segment"
DESCRIPTION = """\
Write one lattice for each segment, with all paths that any of the inputs has for its id.

An input is a file, or a directory with all its files. Lattices are joined at a new start state;
no path changes its words, score or features, and one that occurs twice stays twice. N-best
lists become one list; with lattices among them, each entry becomes a path.

Segments come in the order of the first input, then those that only later ones have. A segment
that an input lacks is made of the others. Inputs in one order are read side by side. To find a
segment that another input has later, or not at all, that input is read on, and what stands
before it is kept in memory; the first input never is.
"""
EXAMPLES = """\
examples:
  fstmetrics union system-a.jsonl.gz system-b.jsonl.gz -o both.jsonl.gz
  fstmetrics union run1.nbest run2.nbest run3.nbest -o all.nbest
"""
OPTIONS = """\
@input files SPACES
@target
--workers N: whole number = 1  number of worker processes to read each input; does not change the
    output (default: 1, in this process)
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if len(arguments.paths) < 2:
        arguments.parser.error("one input only; a union is of two or more")
    target = target_of(arguments)
    from decoding.corpus.inputs import Inputs

    total = Inputs(arguments.paths, arguments.input_format).bytes
    with progress(total, wanted=not arguments.quiet) as shown:
        return _join(arguments, target, shown)


def _join(arguments: argparse.Namespace, target: Target, shown: Progress) -> int:
    from decoding.corpus.runner import run as run_corpus
    from decoding.corpus.transforms import keep_unchanged
    from decoding.reranking import join_spaces
    from decoding.tasks.spaces import SpacesTask

    for path in arguments.paths:
        detail(f"reading {path}")
    inputs = [
        run_corpus(
            SpacesTask(keep_unchanged),
            [path],
            format=arguments.input_format,
            options=dict(arguments.option),
            workers=arguments.workers,
            on_read=shown.read,
        )
        for path in arguments.paths
    ]
    incomplete = 0

    def ready(parts: Sequence[Space]) -> Ready:
        nonlocal incomplete
        incomplete += len(parts) < len(inputs)
        shown.done()
        return target.ready(join_spaces(parts))

    def merge_spaces() -> Iterator[Done[Ready] | Failure]:
        yield from prepare_results(merge(inputs), ready)
        # what is said now has a line of its own
        shown.close()

    code = write_outcomes(arguments, target, merge_spaces())
    if incomplete:
        note(f"{incomplete} segments are not in all {len(inputs)} inputs")
    return code


def merge(
    inputs: Iterable[Iterator[Done[Space] | Failure]],
) -> Iterator[Done[list[Space]] | Failure]:
    """Bring together the segments of several inputs that have one id.

    They come in the order of the first input, then those it has not in the order of the
    second, and so on. For each, the inputs are read on that have not given it; what they give
    before is held.
    """
    from decoding.corpus.runner import Done

    failures: list[Failure] = []
    sources = [_Source(outcomes, failures) for outcomes in inputs]
    for number, source in enumerate(sources, start=1):
        for done in source.read_rest():
            found = [done, *(other.find(done.id) for other in sources[number:])]
            parts = [part.result for part in found if part is not None]
            yield from failures
            failures.clear()
            yield Done(done.position, done.path, done.line, done.id, parts)
        yield from failures
        failures.clear()


class _Source:
    """The segments of one input, in order or by id."""

    def __init__(self, outcomes: Iterator[Done[Space] | Failure], failures: list[Failure]) -> None:
        from lattices.formats.ids import SeenIds

        self._outcomes, self._failures = outcomes, failures
        self._seen = SeenIds()
        self._held: dict[str, Done[Space]] = {}

    def find(self, name: str) -> Done[Space] | None:
        """Return the segment of that name and forget it; None if there is none."""
        while name not in self._held:
            if name in self._seen:
                return None
            done = self._next()
            if done is None:
                return None
            self._held[done.id] = done
        return self._held.pop(name)

    def read_rest(self) -> Iterator[Done[Space]]:
        """Iterate over the segments that were not asked for, in order."""
        yield from self._held.values()
        self._held = {}
        while (done := self._next()) is not None:
            yield done

    def _next(self) -> Done[Space] | None:
        """Return the next segment, or None at the end; failures are put aside."""
        from decoding.corpus.runner import Failure

        for outcome in self._outcomes:
            if isinstance(outcome, Failure):
                self._failures.append(outcome)
            else:
                self._seen.add(outcome.id, outcome.path, outcome.line)
                return outcome
        return None
