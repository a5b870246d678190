"""Arguments that several commands share: parsers, checks and messages."""

from __future__ import annotations

import argparse
import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from decoding.cli.option_table import STANDARD
from decoding.cli.terminal import detail, note, progress, say

if TYPE_CHECKING:
    from decoding.corpus.outcomes import Failures, Segment
    from decoding.extraction.search import Search
    from fstmetrics import Metric
    from fstmetrics.statistics.calibration import Calibration
    from fstmetrics.statistics.human import HumanScores
    from fstmetrics.statistics.resampling import OnDrawn
    from fstmetrics.statistics.systems import Scorer, System
    from lattices.errors import FormatError
    from lattices.formats.references import References

#: failures beyond these are counted, not shown
SHOWN_FAILURES = 10
#: segments whose ids may show that references are by id
LOOKED_AT = 8


#: what some options are called in Python; the others are called as argparse stores them
_IN_PYTHON = {
    "input_format": "read.format",
    "systems_format": "systems.format",
    "option": "read.",
    "to": "write.format",
    "write_option": "write.",
    "lossy": "write.lossy",
    "set": "",
    "refs": "references",
    "refs_format": "references.format",
    "refs_id": "references.id_template",
}


def spellings(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the options of a command by the arguments they stand for, for messages."""
    return {
        _IN_PYTHON.get(action.dest, action.dest): max(action.option_strings, key=len)
        for action in parser._actions
        if action.option_strings
    }


def search_of(arguments: argparse.Namespace) -> Search:
    """Return how to search; what the engine needs has to be there."""
    from decoding.extraction.search import Search

    given = {name: getattr(arguments, name) for name in ("engine", "budget", "memory")}
    if given["engine"] not in (None, "auto"):
        from lattices.intersection import ENGINES
        from lattices.registry import check_requirements

        check_requirements(ENGINES.get(given["engine"]))
    return Search(**{name: value for name, value in given.items() if value is not None})


def open_calibration(arguments: argparse.Namespace, calibrated: bool) -> Calibration | None:
    """Return the calibration, if there is one, and have its scale for want of another.

    ``calibrated`` is whether there are confidences in what is written.
    """
    if arguments.calibration is None:
        arguments.scale = 1.0 if arguments.scale is None else arguments.scale
        return None
    if arguments.scale is not None:
        arguments.parser.error("--calibration has a scale: it and --scale exclude one another")
    if not calibrated:
        arguments.parser.error("--calibration is for confidences, and none are written")
    from fstmetrics.statistics.calibration import read_calibration

    found = read_calibration(arguments.calibration)
    arguments.scale = 1.0 if found.scale is None else found.scale
    return found


def check_plot(arguments: argparse.Namespace) -> str:
    """Return the format of the picture that is asked for, empty if none is; refuse what is none."""
    if not arguments.plot:
        return ""
    if arguments.plot == STANDARD:
        arguments.parser.error("--plot is a file")
    from decoding.plots import plot_format

    return plot_format(arguments.plot)


def check_inputs(arguments: argparse.Namespace) -> None:
    """Refuse no input at all, and standard input for two things.

    Of every command that takes inputs; a decoder, or systems, may take their place.
    """
    if getattr(arguments, "decoder", None) is not None:
        return
    paths = arguments.paths or (getattr(arguments, "systems", None) or [])[:1]
    if not paths:
        (what,) = (each.metavar for each in arguments.parser._actions if each.dest == "paths")
        greedy = [name for name in ("refs", "metric") if hasattr(arguments, name)]
        note = f"; they come before {' and '.join(f'--{name}' for name in greedy)}" * bool(greedy)
        for name in greedy:
            first, *rest = getattr(arguments, name) or [""]
            taken = [each for each in rest if os.path.exists(each)]
            if taken:
                note += (
                    f": --{name} has taken {' '.join(taken)}; type: fstmetrics "
                    f"{arguments.command} {' '.join(taken)} --{name} {first}"
                )
        arguments.parser.error(f"no {what} given{note}")
    _check_there(arguments, paths)
    files = [*paths, *(getattr(arguments, "refs", None) or [])]
    if files.count(STANDARD) > 1:
        arguments.parser.error("standard input (-) can be read only once")


def _check_there(arguments: argparse.Namespace, paths: Sequence[str]) -> None:
    """Refuse files that are not there, with what may have been meant."""
    lost = [each for each in paths if not (each == STANDARD or "://" in each)]
    lost = [each for each in lost if not os.path.exists(each)]
    if not lost:
        return
    path, hint = lost[0], ""
    if any(sign in path for sign in "*?["):
        hint = "; the shell found no file that fits"
    elif lost == paths[-1:] and len(paths) > 1 and getattr(arguments, "output", "") == STANDARD:
        hint = f"; what is written goes to -o {path}"
    arguments.parser.error(f"{path}: {os.strerror(errno.ENOENT)}{hint}")


def check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse at once what cannot be written, and what would take the place of a file it needs.

    Of every command, before it does anything. Files are compared, not names: a link to an input
    is that input.
    """
    if getattr(arguments, "format", None) == "parquet":
        from lattices.optional import require

        require("pyarrow", "arrow")
    written: dict[str, str] = {}
    for option, path in _list_outputs(arguments, ("ark", "symbols")):
        _check_writable(path)
        is_special = os.path.exists(path) and not os.path.isfile(path)
        if is_special or (path, option) == (STANDARD, "--plot"):
            # a folder, a pipe or a device; and what commands refuse in words of their own
            continue
        target = path if path == STANDARD else os.path.realpath(path)
        if target in written:
            arguments.parser.error(f"{option} and {written[target]} are the same file")
        written[target] = option
    # a table of symbols may be read and added to
    there = [
        (option, path, identity)
        for option, path in _list_outputs(arguments, ("ark",))
        if (identity := file_identity(path, 1)) is not None
    ]
    read = list_inputs(arguments) if there else set()
    for option, path, identity in there:
        if identity in read:
            from lattices.errors import OptionError

            name = "standard output" if path == STANDARD else f"{option} {path}"
            raise OptionError(f"{name} is a file that this command reads; write to another one")


#: arguments that name files which are written, and which are read
_WRITTEN = {
    "output": "-o",
    "summary": "--summary",
    "history": "--history",
    "checkpoint": "--checkpoint",
    "plot": "--plot",
    "matrix": "--matrix",
    "cache": "--cache",
    "pra": "--pra",
    "write_spaces": "--write-spaces",
    "write_weights": "--write-weights",
    "symbols": "--symbols",
    "write_option": "--write-option",
}
_READ = ("paths", "against", "refs", "evidence", "systems", "weights", "start", "template", "dev",
         "dev_refs", "human", "by", "add", "calibration", "sources", "option", "write_option",
         "metric", "lattices", "symbols_in")  # fmt: skip
#: files in the specification of a metric
_METRIC_FILES = re.compile(r"\b(?:vectors|parses|references)=([^,()]+)")


def list_inputs(arguments: argparse.Namespace) -> set[tuple[int, int]]:
    """Return the identities of all files that a command reads; of a directory, those in it."""
    found = set()
    for name in _READ:
        for path in _paths(getattr(arguments, name, None), name, ("symbols",)):
            names = os.listdir(path) if os.path.isdir(path) else [""]
            found |= {file_identity(os.path.join(path, name) if name else path) for name in names}
    return {each for each in found if each is not None}


def file_identity(path: str, standard: int = 0) -> tuple[int, int] | None:
    """Return the identity of a regular file (device and inode); None if it does not exist.

    ``standard`` is the descriptor that ``-`` stands for.
    """
    try:
        found = os.fstat(standard) if path == STANDARD else os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _list_outputs(arguments: argparse.Namespace, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name, option in _WRITTEN.items():
        for path in _paths(getattr(arguments, name, None), name, keys):
            yield option, path


def _paths(value: Any, name: str, keys: Sequence[str]) -> Iterator[str]:
    """Iterate over the files that the value of an argument names."""
    values = value if isinstance(value, list) else [value] if value else []
    for each in chain(*(each if isinstance(each, list) else [each] for each in values)):
        if name == "metric":
            yield from _METRIC_FILES.findall(each)
        elif name == "add":
            yield each[1]
        elif isinstance(each, tuple):
            yield from [each[1]] if each[0] in keys else []
        elif name not in ("option", "write_option"):
            yield each


def _check_writable(path: str) -> None:
    from lattices.formats.compression import compression_of
    from lattices.formats.streams import is_url

    compression_of(path)
    if is_url(path):
        return
    folder = os.path.dirname(path.rstrip("/"))
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "no such directory", folder)
    if os.path.isdir(path):
        folder = path
    elif path == STANDARD or (os.path.exists(path) and not os.path.isfile(path)):
        return
    if not os.access(folder or os.curdir, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def parse_metric_option(
    specification: str, *, check: bool = True, normalise: str | None = None
) -> Metric:
    """Return a metric; with ``check``, what it needs and cannot be had is said here."""
    from fstmetrics import parse_metric
    from lattices.registry import check_requirements

    if "," in specification and ":" not in specification:
        from lattices.errors import OptionError

        several = specification.replace(",", " ")
        raise OptionError(f"{specification!r}: metrics stand between blanks, as --metric {several}")
    metric = parse_metric(specification)
    if normalise is not None:
        from fstmetrics import Normalised
        from fstmetrics.combination import normalise_metric
        from lattices.errors import OptionError

        if isinstance(metric, Normalised):
            raise OptionError(f"--normalize {normalise}, and {metric} has normalisers of its own")
        metric = normalise_metric(metric, normalise)
    if check:
        check_requirements(metric)
    return metric


def parse_metric_options(
    arguments: argparse.Namespace, *, check: bool = True
) -> tuple[Metric, ...]:
    """Return the metrics that were asked for, each once."""
    given = arguments.metric or arguments.default_metric
    metrics = [
        parse_metric_option(specification, check=check, normalise=arguments.normalise)
        for specification in given
    ]
    found = {str(metric): metric for metric in metrics}
    detail(f"metrics {', '.join(found)}")
    return tuple(found.values())


def open_references(arguments: argparse.Namespace) -> References | None:
    """Return the references of ``--refs``, or None if they are in the input."""
    if not arguments.refs:
        return None
    from lattices.formats.references import read_references

    detail(f"references from {', '.join(arguments.refs)}")
    return read_references(
        arguments.refs,
        format=arguments.refs_format,
        id_template=arguments.refs_id,
        variants=arguments.refs_variants,
        option="--refs-format ",
    )


def open_sources(arguments: argparse.Namespace) -> References | None:
    """Return the source texts of ``--sources``, or None if they are in the input."""
    if not arguments.sources:
        return None
    from lattices.formats.references import read_references

    given = {"format": arguments.sources_format, "option": "--sources-format "}
    return read_references([arguments.sources], what="source", **given)


def make_settler(
    references: References | None,
    arguments: argparse.Namespace,
    *,
    required: bool = False,
    sources: References | None = None,
) -> Callable[[Iterator[Segment]], None] | None:
    """Return what decides the layout of references and sources from the ids of a few segments."""
    if references is None and sources is None and not required:
        return None

    def settle(segments: Iterator[Segment]) -> None:
        some = list(islice(segments, LOOKED_AT))
        if references is not None:
            references.settle(segment.id for segment in some)
        if sources is not None:
            sources.settle(segment.id for segment in some)
        wanted = required or references is not None
        if wanted and not getattr(arguments, "partial_refs", True):
            _check_first(chain(some, segments), references)

    return settle


def _check_first(segments: Iterable[Segment], references: References | None) -> None:
    """Refuse a batch in which no segment has references; the error names the ids there are."""
    from lattices.errors import FormatError, OptionError

    first = problem = None
    count = 0
    for segment in segments:
        try:
            if segment.references(references):
                return
        except FormatError as found:
            problem = problem or found
        first, count = first or segment, count + 1
    if first is None:
        return
    later = "; if only later ones have, --partial-refs goes on"
    if problem is not None and references is not None:
        known = ", ".join(map(repr, references.ids[:3]))
        raise FormatError(
            problem.problem
            + (f", nor for any other of the first {count} segments" if count > 1 else "")
            + (f"; it has {known}" if known else "")
            + later,
            problem.path,
            problem.line,
        )
    keys = ", ".join(map(repr, first.space.metadata))
    none = f"none of the first {count} segments has" if count > 1 else "the first segment has no"
    raise OptionError(
        f"{first.place}: {none} references in the input ('refs' or 'references' of JSON lines and "
        f"Arrow){f'; other keys are {keys}' if keys else ''}; give them by --refs FILE{later}"
    )


def report_failures(failures: Failures) -> None:
    """Print the failures; of many, the first of each cause, and how many are like it."""
    for line in _failure_lines(failures):
        say(line)


def explain_nothing_done(failures: Failures, note: str) -> FormatError:
    """Return the error that no segment has a result; what else is wrong is printed."""
    from lattices.errors import FormatError

    causes = failures.causes()
    if len(causes) == 1 and len(failures) > 1:
        (last, count) = causes[0]
        what = "files" if last.position < 0 else "segments"
        return FormatError(f"{last} (the same for all {count} {what}: {note})")
    *others, end = _failure_lines(failures) or ["there is no segment in the input"]
    for line in others:
        say(line)
    return FormatError(f"{end} ({note})")


def _failure_lines(failures: Failures) -> list[str]:
    if len(failures) <= SHOWN_FAILURES:
        return list(map(str, failures.first))
    causes = failures.causes()[:SHOWN_FAILURES]
    lines = [
        f"{failure}{f' (and {count - 1} more like it)' if count > 1 else ''}"
        for failure, count in causes
    ]
    left = len(failures) - sum(count for _, count in causes)
    return [*lines[:-1], *([f"... and {left} more failures"] if left else []), lines[-1]]


def read_systems(
    arguments: argparse.Namespace,
    metrics: tuple[Metric, ...],
    paths: Sequence[str],
    *,
    keep: bool = True,
    sentences: bool = False,
) -> tuple[list[System], References]:
    """Return systems that have an output for every reference, scored; and say how they were read.

    ``keep`` and ``sentences`` as in :class:`fstmetrics.statistics.systems.Scorer`.
    """
    from fstmetrics.statistics.systems import Scorer, describe_layout, read_complete

    references = require_references(arguments)
    scorer = Scorer(metrics, references, arguments.refs_id, keep=keep, sentences=sentences)
    detail(f"reading {', '.join(paths)}")
    with scoring_progress(scorer, arguments):
        systems = [read_complete(path, arguments.input_format, scorer) for path in paths]
    for system in systems:
        describe_system(system)
    note(describe_layout(references))
    return systems, references


@contextmanager
def scoring_progress(scorer: Scorer, arguments: argparse.Namespace) -> Iterator[None]:
    """Show the progress of reading and scoring systems, on a terminal."""
    with progress(None, wanted=not arguments.quiet) as shown:
        scorer.on_scored = shown.done
        yield


@contextmanager
def resampling_progress(total: int, arguments: argparse.Namespace) -> Iterator[OnDrawn]:
    """Show the progress of so many resamples, on a terminal; give what to tell blocks of them."""
    with progress(total, wanted=not arguments.quiet, what="resamples") as shown:
        yield shown.draw


def describe_system(system: System) -> None:
    """Say how a system was read, and what is suspicious about it."""
    if system.note:
        note(f"{system.name}: {system.note}")
    if system.problem:
        say(f"warning: {system.name}: {system.problem}")


def require_references(arguments: argparse.Namespace) -> References:
    """Return the references of ``--refs``, which has to be given."""
    from lattices.errors import OptionError, argument

    references = open_references(arguments)
    if references is None:
        raise OptionError(f"{argument('refs', 'FILE')} is missing")
    return references


def write_report(arguments: argparse.Namespace, report: bytes, picture: bytes = b"") -> None:
    """Write a report to the output, and its picture, if it has one, to the file of ``--plot``."""
    write_files((arguments.plot if picture else None, picture), (arguments.output, report))


def write_files(*files: tuple[str | None, bytes]) -> None:
    """Write contents to files, all or none of them; where there is no name nothing is written."""
    from lattices.formats.streams import open_output

    with ExitStack() as stack:
        for path, content in files:
            if path:
                output = stack.enter_context(open_output(path))
                output.write(content)
                # a full disk is noticed before any of them takes its name
                output.flush()


def open_human(
    arguments: argparse.Namespace, paths: Sequence[str]
) -> tuple[HumanScores, dict[str, str]]:
    """Return human scores and the file of each system that has one; say what is left out."""
    from fstmetrics.statistics.human import match_systems, read_human
    from lattices.errors import FormatError

    if arguments.human == STANDARD:
        arguments.parser.error("--human is a file")
    human = read_human(arguments.human, one_system=len(paths) == 1, level=arguments.human_level)
    if not human.entries[0].system:
        return human, {"": paths[0]}
    asked = dict.fromkeys(entry.system for entry in human.entries)
    if human.by_segment and len(paths) == len(asked) == 1:
        # whatever people call it
        return human, dict.fromkeys(asked, paths[0])
    found = match_systems(human, paths)
    if not found:
        raise FormatError(
            f"none of the systems is among the files, such as {next(iter(asked))!r}", human.path
        )
    for name in asked:
        if name not in found:
            note(f"{human.path}: {name}: no file of this name; left out")
    for path in paths:
        if path not in found.values():
            note(f"{path}: no human score; left out")
    fewest = 3 if not human.by_segment else 2 if human.preferences else 1
    if len(found) < fewest:
        raise FormatError(
            f"scores of {len(found)} of the systems, expected {fewest} or more", human.path
        )
    return human, found
