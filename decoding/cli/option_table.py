"""Options of commands as tables of text, which say of each what its help says.

A line is an option: its names, what help calls its value, after a colon of what kind that is, after
an equals sign the default, and behind two spaces the help, which goes on in indented lines::

    -k K: whole number = 1  number of best sentences of each segment
    --at K,K,...: counts  sizes of lists, such as 1,2,4
    | --densities D,D,...: densities  sizes of lattices; excludes the line above
    --ties drop|split = drop  ties in sign tests
    --worst  a switch
    @inputs SPACES  several options: a line of SHARED

Kinds are those of :data:`KINDS`. Beside them stand *several* (values behind one option), *repeated*
(the option may be), *repeated files* (both, a list each time), *any*, *optional* (of plain
arguments), *rest* (of the line), *required*, and *as NAME* (where argparse stores it). The help
ends with the default unless it speaks of it. Where several values have a default it is stored as
``default_NAME``, and the option is None.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from decimal import Decimal

STANDARD = "-"
#: formats of tables that are made when all rows are there
TABULAR = ("csv", "parquet")
#: formats that have one sentence of each segment, and no scores
SENTENCES = ("text", "kaldi", "trn")
#: formats of results that are sentences
LINES = ("tsv", "jsonl", *SENTENCES, *TABULAR)
#: formats of tables
FORMATS = ("table", "tsv", "json", "latex", "markdown", *TABULAR)

#: tests of significance
TESTS = ("bootstrap", "randomization", "sign", "sign-substitution", "mapsswe")
#: options that several commands have; ``<what>``, ``<default>`` and ``<note>`` are what a line that
#: names them has in the places of the value's name, the default and the help
SHARED = {
    "inputs": """
@input files <what>
--acoustic-scale X: number  weight of acoustic scores, where the format has them, before anything
    else is done
--lm-scale X: number  weight of language scores (of Kaldi's graph costs)
--word-ins-penalty X: number  what each word costs, as Kaldi's lattice-add-penalty
""",
    "input files": """
paths <what>: any  files (plain or compressed), directories, URLs, or - for standard input; before
    options that take several values
--input-format NAME  format of the input, by default found by its content (see: fstmetrics formats)
--option KEY=VALUE: pair, repeated  option of the input format, such as tags=keep for htk; may be
    repeated
--ids FILE  only segments with these ids, one a line, which are looked up: in Arrow and Parquet
    files, and in plain files with an index (fstmetrics info --index)
""",
    "systems": """
paths <what>: any  <note>, or - for standard input; before options that take several values
--input-format NAME  input format: text (lines, with ids if the references have them), kaldi ('id
    words'), trn, ctm, tsv ('id score words'), or one of spaces (default: found by content)
""",
    "join": """
--join PATTERN  first put the segments of each recording together, one after the other, with their
    references, and times moved: a regular expression for ids, of which a group, or all that fits,
    is the recording's name, such as '(.+)-[0-9]+'
""",
    "references": """
@reference files  (default: the references in the input)
--partial-refs  go on though none of the first segments has references; those that have none fail,
    or are not scored where references are not needed
""",
    "reference files": """
--refs FILE: several, <what>  reference files, one for each reference of a segment: lines in the
    order of the segments, Kaldi's 'id words', trn, ctm or stm of NIST's sclite, or what commands
    write <note>
--refs-format: layouts = auto  layout of the reference files: kaldi ('id words'), plain (line i is
    segment i), trn, ctm, stm, tsv ('id score words'), one of a plug-in's, or auto: found by content
    and segment ids; plain if first words cannot be ids (a few lines whose first words all differ
    may have ids: say plain)
--refs-variants  in references, [Anne|Ann] stands for either, [um|] for a word or none
@reference ids
""",
    "sources": """
--sources FILE  source texts of the segments, for <what> (default: those in the input)
--sources-format: layouts = auto  layout of that file: kaldi ('id words') or plain (line i is
    segment i), or another as of references (default: auto, by content and segment ids)
""",
    "reference ids": """
--refs-id TEMPLATE  template of segment ids for trn (fields {id} {utterance}), ctm ({file}
    {channel}) or stm (also {speaker} {begin} {end} {begin_cs:06} ...), such as {file}-{channel}
""",
    "metrics": """
--metric SPEC: several = <default>  metrics such as wer or grr:n=2,alpha=0.5, or
    python:MODULE:NAME, a metric's class or a function of pairs of texts (default: <default>)<note>
@normaliser
@score style
""",
    "score style": """
--decimals N: seed  digits of percentages in tables for people; fractions have two more (default: 2)
--fractions  show rates such as WER as fractions, 0.1676, not in percent, 16.76; files for programs
    (tsv, csv, json) have fractions always
""",
    "normaliser": """
--normalize, --normalise NAME[+NAME...]: as normalise  make both sides alike before they are
    compared: lower, nfkc, punctuation, whisper-basic, whisper-english, drop:WORD|WORD, glm:FILE,
    regex:FILE
""",
    "human": """
--human FILE: <what>  file of human scores, higher is better, in columns separated by tabs or
    blanks; or WMT's csv of ranks
--human-level system|segment  what the human scores are of: a file of ranks is of pairs of outputs
    (segment, the default) and of systems (their expected wins); others show what they are of
""",
    "search": """
--engine NAME  search engine: auto, kernel or openfst (default: auto, the kernel where it can run)
--budget N: whole number  maximum number of labels kept in a search under BLEU or chrF, and of
    prefixes for k best or worst; beyond it, a result is not proven (default: 1 million)
--memory SIZE: size  maximum memory of a search, such as 500M (default: 2G); beyond it, a result is
    not proven where that has a meaning, and the segment fails elsewhere
""",
    "calibration": """
--scale S: number  scale of the model scores before they become probabilities (default: 1, or that
    of --calibration)
--calibration FILE  calibration of 'fstmetrics calibrate', for confidences
--channel NAME = 1  channel of all words in ctm
""",
    "resampling": """
--samples N: whole number = <default>  number of bootstrap resamples <note>
--seed S: seed = 0  random seed, from 0 on
--level X: level = 0.95  confidence level of intervals
""",
    "blocks": """
--blocks GROUP  resample blocks of segments that depend on one another, instead of segments: speaker
    (the id up to the first - or _), a FILE of 'id group', or a regular expression for ids
""",
    "breakdown": """
--by GROUP  also write the scores of groups of segments: speaker (the id up to the first - or _),
    length (of the reference), a FILE of 'id group', a regular expression for ids, or, of search
    spaces, a field: what folders KEY=VALUE or JSON lines say beside
--sort COLUMN  with --by: sort groups by a column of their table, such as words or wer, the largest
    first (default: by name)
--top N: whole number  also write the N most frequent substitutions, insertions and deletions
--show errors|all  also print alignments to the references: of segments with errors, or of all
--pra FILE  also write the alignments of all segments as sclite's pra has them
""",
    "plot": "--plot FILE  also <note>: .png, .svg or .pdf; needs matplotlib",
    "running": """
--workers N: workers = auto  number of worker processes; auto begins in this one, and goes on in one
    for each processor if the rest takes seconds; does not change the output (default: auto)
--dask ADDRESS  scheduler address (tcp://host:8786) or scheduler file of a Dask cluster to run on,
    instead of --workers
--executor NAME  python:MODULE:FUNCTION, which is called without arguments and returns a
    concurrent.futures.Executor to run on, of whatever cluster; instead of --workers
""",
    "resuming": """
--resume  continue an interrupted run with the same arguments, from its journal beside OUT
--shards N: whole number  cut the input into about N shards, which workers read and write by
    themselves, and --resume goes by shard; does not change the output (default: shards of 32 MB
    where several workers get 256 MB or more, and else none: all comes in order)
--partitioned  leave a file for each shard: OUT is a new folder
""",
    "table format": """
--format: tables = table  output format (default: table); latex needs the package booktabs, parquet
    pyarrow<note>
""",
    "output": """
-o, --output OUT = -  output file, compressed if it ends in .gz, .bz2, .xz or .zst; written
    completely or not at all (default: -, standard output)
""",
    "target": """
-o, --output OUT = -  output file, compressed if it ends in .gz, .bz2, .xz or .zst, or an existing
    directory for one file a segment (default: -, standard output)
--to FORMAT  output format (default: by the suffix of OUT; jsonl for standard output and
    directories; see: fstmetrics formats)
--write-option KEY=VALUE: pair, repeated  option of the output format, such as symbols=words.txt for
    kaldi; may be repeated
--lossy  leave out what the format cannot hold, with a warning; without it such a segment is an
    error
""",
    "summary": "--summary FILE  also write <note>, as JSON",
    "volume": """
-q, --quiet  print only errors and warnings to standard error
| -v, --verbose  also print what is read, what it is searched with, and how long it takes
""",
}


class PluginNames:
    """Choices of an option: names, and those of plug-ins, which are looked up if one is given."""

    def __init__(self, names: tuple[str, ...], registry: str) -> None:
        self.names, self.registry = names, registry

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the library's own, for the help."""
        return iter(self.names)

    def __contains__(self, name: str) -> bool:
        """Tell whether a name is one of these, or that of a plug-in."""
        if name in self.names or name.startswith("python:"):
            return True
        module, _, attribute = self.registry.partition(":")
        return name in getattr(import_module(module), attribute).names()


class _OptionLine(NamedTuple):
    """A line of a table, in its parts."""

    names: list[str]
    value: str
    words: list[str]
    default: str
    help: str
    is_alternative: bool


def _lines(table: str) -> Iterator[_OptionLine]:
    """Iterate over the options of a table, those that it shares among them."""
    for text in filter(None, re.split(r"\n(?! )", table)):
        head, _, help = text.partition("  ")
        help = " ".join(help.split())
        head, _, default = head.removeprefix("| ").partition(" =")
        head, _, words = head.partition(":")
        if head.startswith("@"):
            name = next(each for each in SHARED if f"{head} ".startswith(f"@{each} "))
            shared = SHARED[name].replace("<what>", head.removeprefix(f"@{name}").strip())
            yield from _lines(shared.replace("<default>", default.strip()).replace("<note>", help))
            continue
        names = re.findall(r"(?:^|(?<=, ))-[-\w]+|^\w+", head)
        value = head[head.index(names[-1]) + len(names[-1]) :].strip()
        kinds = [each.strip() for each in words.split(",") if each.strip()]
        yield _OptionLine(names, value, kinds, default.strip(), help, text.startswith("| "))


def add_options(parser: argparse.ArgumentParser, table: str) -> None:
    """Add the options of a table to a parser."""
    lines = list(_lines(table))
    place: Any = parser
    for number, line in enumerate(lines):
        if not line.is_alternative:
            following = lines[number + 1 : number + 2]
            has_alternatives = any(each.is_alternative for each in following)
            place = parser
            if has_alternatives:
                place = parser.add_mutually_exclusive_group(required="required" in line.words)
        given = _keywords(line)
        if place is not parser:
            given.pop("required", None)
        default = f" (default: {line.default})"
        help = line.help + default * bool(line.default and "default" not in line.help)
        action = place.add_argument(*line.names, help=help, **given)
        if line.default and "several" in line.words:
            parser.set_defaults(**{f"default_{action.dest}": line.default.split()})


def _keywords(line: _OptionLine) -> dict[str, Any]:
    """Return what argparse wants to know of an option."""
    found: dict[str, Any] = {}
    if "|" in line.value and "[" not in line.value:
        found["choices"] = tuple(line.value.split("|"))
    elif line.value:
        found["metavar"] = line.value
    for word in line.words:
        if word.startswith("as "):
            found["dest"] = word.removeprefix("as ")
        elif word in _USES:
            found |= _USES[word]
        elif isinstance(KINDS[word], tuple | PluginNames):
            found["choices"] = KINDS[word]
        else:
            found["type"] = KINDS[word]
    if not found.keys() & {"metavar", "choices", "nargs"}:
        return {**found, "action": "store_true"}
    if line.default and "several" not in line.words:
        found["default"] = found.get("type", str)(line.default)
    return found


def positive(text: str) -> int:
    """Return a whole number from 1 on; for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def workers(text: str) -> int:
    """Return a number of workers, 0 for ``auto``; for argparse."""
    return 0 if text == "auto" else positive(text)


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


def seed(text: str) -> int:
    """Return a whole number from 0 on; for argparse."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def _level(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def densities(text: str) -> list[float]:
    """Return numbers above 0, as :func:`values` does; for argparse."""
    found = values(text)
    if min(found) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: {min(found):g} is not above 0")
    return found


def source(text: str) -> tuple[str, str]:
    """Return the two sides of ``NAME=FILE``; for argparse."""
    name, equals, source = text.partition("=")
    if not (name and equals and source) or name != name.strip() or " " in name:
        raise argparse.ArgumentTypeError(
            f"{text!r}, expected NAME=FILE or NAME=python:MODULE:FUNCTION"
        )
    return name, source


# argparse shows these names in its messages
positive.__name__ = "whole number"
finite.__name__ = _level.__name__ = "number"


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
        found = re.fullmatch(r"(\d+)(?:-|:|\.\.+)(\d+)", item)
        hint = f"; a range is {found[1]},{int(found[1]) + 1},...,{found[2]}" if found else ""
        raise argparse.ArgumentTypeError(f"{item!r} is not a number{hint}")
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


_WRITERS = "decoding.corpus.writers:WRITERS"
#: what the value of an option is: a function of its text, or all that it may be
KINDS: dict[str, Callable[[str], Any] | tuple[str, ...] | PluginNames] = {
    "whole number": positive,
    "workers": workers,
    "number": finite,
    "seed": seed,
    "level": _level,
    "size": size,
    "values": values,
    "counts": counts,
    "densities": densities,
    "name": lower_name,
    "pair": option,
    "source": source,
    "lines": PluginNames(LINES, _WRITERS),
    "lines or ctm": PluginNames((*LINES, "ctm"), _WRITERS),
    "lines or tables": PluginNames(tuple(dict.fromkeys((*LINES, *FORMATS))), _WRITERS),
    "tables": FORMATS,
    "tests": PluginNames((*TESTS, "all"), "fstmetrics.signature:SIGNIFICANCE_TESTS"),
    "layouts": PluginNames(
        ("auto", "kaldi", "plain", "trn", "ctm", "stm", "tsv"),
        "lattices.formats.references.ids:READERS",
    ),
}
#: other words of a line, for argparse
_USES: dict[str, dict[str, Any]] = {
    "several": {"nargs": "+", "action": "extend"},
    "repeated": {"action": "append", "default": []},
    "repeated files": {"action": "append", "default": [], "nargs": "+"},
    "any": {"nargs": "*"},
    "optional": {"nargs": "?"},
    "rest": {"nargs": argparse.REMAINDER},
    "required": {"required": True},
}
