"""Arguments that several commands share: parsers, checks and messages."""

from __future__ import annotations

import argparse
import errno
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from importlib import import_module
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from decoding.cli.terminal import detail, note, progress, say

if TYPE_CHECKING:
    from decimal import Decimal

    from decoding.corpus.outcomes import Failures, Segment
    from decoding.extraction.search import Search
    from fstmetrics import Metric
    from fstmetrics.statistics.calibration import Calibration
    from fstmetrics.statistics.resampling import OnDrawn
    from fstmetrics.statistics.systems import Scorer, System
    from lattices.errors import FormatError
    from lattices.formats.references import References


@dataclass(frozen=True)
class PluginNames:
    """Choices of an option: names, and those of plug-ins, which are looked up if one is given."""

    names: Sequence[str]
    registry: str

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the library's own, for the help."""
        return iter(self.names)

    def __contains__(self, name: str) -> bool:
        """Tell whether a name is one of these, or that of a plug-in."""
        if name in self.names or name.startswith("python:"):
            return True
        module, _, attribute = self.registry.partition(":")
        return name in getattr(import_module(module), attribute).names()


STANDARD = "-"
#: failures beyond these are counted, not shown
SHOWN_FAILURES = 10
#: segments whose ids may show that references are by id
LOOKED_AT = 8
REFERENCE_LAYOUTS = PluginNames(
    ("auto", "kaldi", "plain", "trn", "ctm", "stm", "tsv"),
    "lattices.formats.references.ids:READERS",
)


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


def positive(text: str) -> int:
    """Return a whole number from 1 on; for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def finite(text: str) -> float:
    """Return a finite number; for argparse."""
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text} is not finite")
    return number


def size(text: str) -> int:
    """Return a number of bytes, as ``500M`` or ``2G``; for argparse."""
    factors = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    factor = factors.get(text[-1:].upper())
    try:
        number = finite(text if factor is None else text[:-1])
    except ValueError:
        number = 0.0
    if number * (factor or 1) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes, as 500M or 2G")
    return int(number * (factor or 1))


def lower_name(text: str) -> str:
    """Return ``NAME:OPTIONS`` with the name in lower case; for argparse."""
    name, colon, options = text.partition(":")
    # python:MODULE:NAME is as it is
    return text if name == "python" else f"{name.lower()}{colon}{options}"


def option(text: str) -> tuple[str, str]:
    """Return the two sides of ``KEY=VALUE``; for argparse."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text!r}, expected KEY=VALUE")
    return key, value


# argparse shows these names in its messages
positive.__name__, finite.__name__ = "whole number", "number"


def add_inputs(parser: argparse.ArgumentParser, metavar: str) -> None:
    """Add the search spaces to read, and how to read them."""
    parser.add_argument(
        "paths",
        metavar=metavar,
        nargs="*",
        help="files (plain or compressed), directories, URLs, or - for standard input; before "
        "options that take several values",
    )
    parser.add_argument(
        "--input-format",
        metavar="NAME",
        help="format of the input, by default found by its content (see: fstmetrics formats)",
    )
    parser.add_argument(
        "--option",
        metavar="KEY=VALUE",
        type=option,
        action="append",
        default=[],
        help="option of the input format, such as tags=keep for htk; may be repeated",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the number of processes."""
    parser.add_argument(
        "--workers",
        metavar="N",
        type=positive,
        default=1,
        help="number of worker processes, which gain where the work takes seconds, not for 1,000 "
        "lattices; does not change the output (default: 1, in this process)",
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add how to search: the fields of :class:`decoding.extraction.search.Search`."""
    from decoding.extraction.search import Search

    for each in fields(Search):
        if each.metadata:
            kind = {"N": positive, "SIZE": size}.get(each.metadata["metavar"], str)
            parser.add_argument(f"--{each.name}", type=kind, **each.metadata)


def search_of(arguments: argparse.Namespace) -> Search:
    """Return how to search; what the engine needs has to be there."""
    from decoding.extraction.search import Search

    given = {each.name: getattr(arguments, each.name) for each in fields(Search) if each.metadata}
    if given["engine"] not in (None, "auto"):
        from lattices.intersection import ENGINES
        from lattices.registry import check_requirements

        check_requirements(ENGINES.get(given["engine"]))
    return Search(**{name: value for name, value in given.items() if value is not None})


def add_references(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add the files of references."""
    parser.add_argument(
        "--refs",
        metavar="FILE",
        nargs="+",
        action="extend",
        required=required,
        help="reference files, one for each reference of a segment: lines in the order of the "
        "segments, Kaldi's 'id words', trn, ctm or stm of NIST's sclite, or what commands write"
        + ("" if required else " (default: the references in the input)"),
    )
    parser.add_argument(
        "--refs-format",
        choices=REFERENCE_LAYOUTS,
        default="auto",
        help="layout of the reference files: kaldi ('id words'), plain (line i is segment i), trn, "
        "ctm, stm, tsv ('id score words'), one of a plug-in's, or auto: found by content and "
        "segment ids; plain if "
        "first words cannot be ids (a few lines whose first words all differ may have ids: say "
        "plain) (default: auto)",
    )
    add_reference_ids(parser)
    if not required:
        parser.add_argument(
            "--partial-refs",
            action="store_true",
            help="go on though none of the first segments has references; those that have none "
            "fail, or are not scored where references are not needed",
        )


def add_reference_ids(parser: argparse.ArgumentParser) -> None:
    """Add how ids are made."""
    parser.add_argument(
        "--refs-id",
        metavar="TEMPLATE",
        help="template of segment ids for trn (fields {id} {utterance}), ctm ({file} {channel}) or "
        "stm (also {speaker} {begin} {end} {begin_cs:06} ...), such as {file}-{channel}",
    )


def add_metrics(parser: argparse.ArgumentParser, note: str = "", default: str = "grr") -> None:
    """Add the metrics; ``default`` has those to take if none are given."""
    parser.set_defaults(default_metrics=default.split())
    parser.add_argument(
        "--metric",
        metavar="SPEC",
        nargs="+",
        action="extend",
        help=f"metrics such as wer or grr:n=2,alpha=0.5, or python:MODULE:FUNCTION, a function of "
        f"pairs of texts (default: {default}){note}",
    )
    add_normaliser(parser)


def add_normaliser(parser: argparse.ArgumentParser) -> None:
    """Add what makes both sides alike."""
    parser.add_argument(
        "--normalize",
        "--normalise",
        dest="normalise",
        metavar="NAME[+NAME...]",
        help="make both sides alike before they are compared: lower, nfkc, punctuation, "
        "whisper-basic, whisper-english, drop:WORD|WORD, glm:FILE, regex:FILE",
    )


def add_calibration(parser: argparse.ArgumentParser) -> None:
    """Add what confidences are made of: a scale, or a calibration."""
    parser.add_argument(
        "--scale",
        metavar="S",
        type=finite,
        help="scale of the model scores before they become probabilities (default: 1, or that of "
        "--calibration)",
    )
    parser.add_argument(
        "--calibration",
        metavar="FILE",
        help="calibration of 'fstmetrics calibrate', for confidences",
    )
    parser.add_argument(
        "--channel", metavar="NAME", default="1", help="channel of all words in ctm (default: 1)"
    )


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


def add_plot(parser: argparse.ArgumentParser, what: str = "write a plot") -> None:
    """Add the file for a picture."""
    parser.add_argument(
        "--plot", metavar="FILE", help=f"also {what}: .png, .svg or .pdf; needs matplotlib"
    )


def check_plot(arguments: argparse.Namespace) -> str:
    """Return the format of the picture that is asked for, empty if none is; refuse what is none."""
    if not arguments.plot:
        return ""
    if arguments.plot == STANDARD:
        arguments.parser.error("--plot is a file")
    from decoding.plots import plot_format

    return plot_format(arguments.plot)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the file to write."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        default=STANDARD,
        help="output file, compressed if it ends in .gz, .bz2, .xz or .zst; written completely "
        "or not at all (default: -, standard output)",
    )


def check_inputs(arguments: argparse.Namespace, what: str) -> None:
    """Refuse no input at all, and standard input for two things."""
    if not arguments.paths:
        greedy = [f"--{name}" for name in ("refs", "metric") if hasattr(arguments, name)]
        note = f"; they come before {' and '.join(greedy)}" if greedy else ""
        arguments.parser.error(f"no {what} given{note}")
    files = [*arguments.paths, *(getattr(arguments, "refs", None) or [])]
    if files.count(STANDARD) > 1:
        arguments.parser.error("standard input (-) can be read only once")


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
    "symbols": "--symbols",
    "write_option": "--write-option",
}
_READ = ("paths", "against", "refs", "evidence", "systems", "weights", "start", "template", "dev",
         "dev_refs", "human", "by", "add", "calibration", "option", "write_option",
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
    for each in values:
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
    given = arguments.metric or arguments.default_metrics
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
        option="--refs-format ",
    )


def make_settler(
    references: References | None, arguments: argparse.Namespace, *, required: bool = False
) -> Callable[[Iterator[Segment]], None] | None:
    """Return what decides the layout of the references from the ids of a few segments."""
    if references is None and not required:
        return None

    def settle(segments: Iterator[Segment]) -> None:
        some = list(islice(segments, LOOKED_AT))
        if references is not None:
            references.settle(segment.id for segment in some)
        if not getattr(arguments, "partial_refs", True):
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


#: formats of tables that are made when all rows are there
TABULAR = ("csv", "parquet")
#: formats that have one sentence of each segment, and no scores
SENTENCES = ("text", "kaldi", "trn")
#: formats of results that are sentences
LINES = ("tsv", "jsonl", *SENTENCES, *TABULAR)


def line_formats(*others: str) -> PluginNames:
    """Return the formats of results that are lines, those of plug-ins included, and others."""
    return PluginNames([*dict.fromkeys((*LINES, *others))], "decoding.corpus.writers:WRITERS")


FORMATS = ("table", "tsv", "json", "latex", "markdown", *TABULAR)


def add_systems(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    """Add the files of the systems, and how to read them."""
    parser.add_argument(
        "paths",
        metavar=metavar,
        nargs="*",
        help=f"{what}, or - for standard input; before options that take several values",
    )
    parser.add_argument(
        "--input-format",
        metavar="NAME",
        help="input format: text (lines, with ids if the references have them), kaldi ('id "
        "words'), trn, ctm, tsv ('id score words'), or one of spaces (default: found by content)",
    )


def read_systems(
    arguments: argparse.Namespace,
    metrics: tuple[Metric, ...],
    paths: Sequence[str],
    *,
    keep: bool = True,
) -> tuple[list[System], References]:
    """Return systems that have an output for every reference, scored; and say how they were read.

    ``keep`` as in :class:`fstmetrics.statistics.systems.Scorer`.
    """
    from fstmetrics.statistics.systems import Scorer, describe_layout, read_complete

    references = require_references(arguments)
    scorer = Scorer(metrics, references, arguments.refs_id, keep=keep)
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


def add_table_format(parser: argparse.ArgumentParser, note: str = "") -> None:
    """Add the format of the output."""
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="table",
        help=f"output format (default: table); latex needs the package booktabs, "
        f"parquet pyarrow{note}",
    )


def add_breakdown(parser: argparse.ArgumentParser) -> None:
    """Add what is asked of scores: where the errors are, and which."""
    parser.add_argument(
        "--by",
        metavar="GROUP",
        help="also write the scores of groups of segments: speaker (the id up to the first - or "
        "_), length (of the reference), a FILE of 'id group', or a regular expression for ids",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=positive,
        help="also write the N most frequent substitutions, insertions and deletions",
    )
    parser.add_argument(
        "--show",
        choices=("errors", "all"),
        help="also print alignments to the references: of segments with errors, or of all",
    )
    parser.add_argument(
        "--pra",
        metavar="FILE",
        help="also write the alignments of all segments as sclite's pra has them",
    )


def add_resampling(parser: argparse.ArgumentParser, samples: int | None, default: str) -> None:
    """Add how often to resample, with what seed, and for what interval."""
    parser.add_argument(
        "--samples",
        metavar="N",
        type=positive,
        default=samples,
        help=f"number of bootstrap resamples (default: {default})",
    )
    parser.add_argument(
        "--seed", metavar="S", type=seed, default=0, help="random seed, from 0 on (default: 0)"
    )
    parser.add_argument(
        "--level",
        metavar="X",
        type=_level,
        default=0.95,
        help="confidence level of intervals (default: 0.95)",
    )


def seed(text: str) -> int:
    """Return a whole number from 0 on; for argparse."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is less than 0")
    return number


def _level(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


# argparse shows these names in its messages
seed.__name__, _level.__name__ = "whole number", "number"


ELLIPSIS = "..."
_MOST = 10_000


def values(text: str) -> list[float]:
    """Return the numbers of a list; for argparse.

    ``0,0.05,...,1`` goes on in the step of the two numbers before the dots, in decimal numbers,
    so that the third is 0.1 and not 0.1000000001; the last one must be met.

    Examples
    --------
    >>> values("0,0.05,...,0.2"), values("1,5,2")
    ([0.0, 0.05, 0.1, 0.15, 0.2], [1.0, 5.0, 2.0])
    """
    found: list[Decimal] = []
    items = [item.strip() for item in text.split(",")]
    for place, item in enumerate(items):
        if item != ELLIPSIS:
            found.append(_number(item))
            continue
        if len(found) < 2 or place + 1 >= len(items) or items[place + 1] == ELLIPSIS:
            raise argparse.ArgumentTypeError(
                f"{text!r}: dots stand between two numbers and the last one"
            )
        _extend(found, _number(items[place + 1]), text)
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text!r}: a number comes twice")
    return [float(number) for number in found]


def counts(text: str) -> list[int]:
    """Return the whole numbers from 1 on of such a list; for argparse.

    Examples
    --------
    >>> counts("1,2,...,5,10")
    [1, 2, 3, 4, 5, 10]
    """
    found = values(text)
    wrong = next((number for number in found if number < 1 or number % 1), None)
    if wrong is not None:
        raise argparse.ArgumentTypeError(f"{text!r}: {wrong:g} is no whole number from 1 on")
    return [int(number) for number in found]


def _number(item: str) -> Decimal:
    from decimal import Decimal, InvalidOperation

    try:
        number = Decimal(item)
    except InvalidOperation:
        number = Decimal("nan")
    # what Decimal holds may be too large for a float
    if not math.isfinite(float(number)):
        raise argparse.ArgumentTypeError(f"{item!r} is not a number")
    return number


def _extend(found: list[Decimal], last: Decimal, text: str) -> None:
    """Add the numbers up to the last one, without it: it comes next in the list."""
    step = found[-1] - found[-2]
    steps = (last - found[-1]) / step if step else step
    if steps < 1 or steps != steps.to_integral_value():
        raise argparse.ArgumentTypeError(f"{text!r}: steps of {step} do not lead to {last}")
    if steps > _MOST:
        raise argparse.ArgumentTypeError(f"{text!r}: more than {_MOST} numbers")
    begin = found[-1]
    found.extend(begin + step * number for number in range(1, int(steps)))
