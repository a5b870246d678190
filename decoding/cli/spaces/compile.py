"""``fstmetrics compile``: metrics, and lattices to compose them with, as OpenFst files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from decoding.cli.arguments import (
    LOOKED_AT,
    file_identity,
    list_inputs,
    open_references,
    parse_metric_option,
    require_references,
)
from decoding.cli.option_table import STANDARD
from decoding.cli.terminal import detail, progress

if TYPE_CHECKING:
    from fstmetrics.contract import CompiledEvaluator, Machine
    from fstmetrics.references import Reference
    from lattices import Lattice
    from lattices.arrays import IntColumn
    from lattices.formats.openfst.codec import FstColumns, SymbolTable
    from lattices.vocabulary import Vocabulary

SUMMARY = "a metric and a reference as an OpenFst automaton, to compose with lattices"
DESCRIPTION = """\
Compile a metric and the references of a segment to an OpenFst acceptor.

The cost of the best path of a sentence is minus its score (minus 1 - score for an error rate; for
linear-bleu minus its linear form). The words are those of the references; <other> is every other
word. Costs are in single precision in the binary form.

With --lattices, for each segment the files ID.lattice.fst and ID.metric.fst in the directory -o,
and words.txt with the words of all: the shortest path of their composition is the oracle, and minus
its cost is the score. Lattices cost nothing, or -W times the model's scores with --model-weight W.
With --symbols-in labels are those of a table that you have, and no words.txt is written.

With --evidence, the automaton of linear MBR: that of linear-bleu, in which n-grams weigh their
posteriors in a lattice, a forest or a list. Composed with the lattice, its best path is what
fstmetrics mbr --method linear chooses.
"""
EXAMPLES = """\
examples:
  fstmetrics compile --metric grr:n=2 --ref "the cat sat" --text
  fstmetrics compile --metric wer --ref "the cat sat" --symbols words.syms -o reference.fst
  fstmetrics compile --metric wer --refs text --refs-format kaldi -o machines/
  fstmetrics compile --metric grr --lattices lattices.jsonl.gz -o fsts/
  fstmetrics compile --metric wer --lattices lat/ --symbols-in words.txt --refs text -o fsts/
  fstmetrics compile --metric linear-bleu:p=0.7 --evidence lattices.jsonl --scale 0.3 -o machines/
"""
OPTIONS = """\
--metric SPEC = grr  metric to compile
--ref WORDS: repeated  a reference; may be repeated, for several references of one segment
| --refs FILE: several  reference files, one for each reference of a segment, one line a segment
| --evidence FILE  spaces instead of references, for linear-bleu: n-grams weigh their posteriors
--lattices FILE: several  lattices, or other spaces, to compose with: their words are those of the
    automata; references are those in the files or of --refs
--input-format NAME  format of --lattices
--option KEY=VALUE: pair, repeated  option of that format; may be repeated
--symbols-in FILE  symbol table with the numbers of all words of --lattices, as Kaldi's words.txt;
    lattices whose labels are numbers are read by it, too
--model-weight W: number  what the model's scores in --lattices are multiplied by (default: 0)
--scale S: number  what scores of --evidence are multiplied by before they become probabilities
    (default: 1)
--refs-format: layouts  layout of the references (default: plain, or of
    --lattices auto: found by content and ids); if it has ids, such as kaldi's 'id words', they name
    the output files
--refs-variants  in references, [Anne|Ann] stands for either, [um|] for a word or none
@reference ids
-o, --output OUT = -  output file, or a directory for one file a segment (default: -, standard
    output)
--symbols FILE  also write the symbol table, as text
--text  write AT&T text, as read by fstcompile --acceptor, instead of binary
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from lattices.formats.streams import open_output
    from lattices.vocabulary import Vocabulary

    _check(arguments)
    if arguments.lattices:
        return _write_pairs(arguments)
    vocabulary = Vocabulary()
    if arguments.evidence is None:
        machines = _of_references(arguments, vocabulary)
    else:
        machines = _compile_evidence(arguments, vocabulary)
    targets = _targets(arguments, list(machines))
    # all is made before anything is written
    contents = []
    with progress(None, wanted=not arguments.quiet) as shown:
        for name, machine in machines.items():
            detail(f"{name}: {machine!r}")
            contents.append(_compile(machine, vocabulary, arguments.text))
            shown.done()
    if arguments.symbols:
        _check_text(vocabulary)
    if len(targets) > 1 or targets[0] != arguments.output:
        os.makedirs(arguments.output, exist_ok=True)
    for target, content in zip(targets, contents, strict=True):
        with open_output(target) as stream:
            stream.write(content)
    if arguments.symbols:
        with open_output(arguments.symbols) as stream:
            stream.write(
                "".join(
                    f"{word}\t{key}\n" for key, word in _whole_table(vocabulary).items()
                ).encode()
            )
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    error = arguments.parser.error
    if arguments.scale is not None and arguments.evidence is None:
        error("--scale is for --evidence: references have no scores")
    if arguments.lattices:
        for name, value in vars(arguments).items():
            if value and name in ("ref", "evidence", "text", "symbols"):
                error(f"--{name} and --lattices exclude one another")
        if arguments.output == STANDARD:
            error("files for --lattices go to a directory: -o DIR")
        arguments.refs_format = arguments.refs_format or "auto"
        return
    for name in ("input_format", "option", "symbols_in", "model_weight"):
        if getattr(arguments, name):
            error(f"--{name.replace('_', '-')} is for --lattices")
    if not (arguments.ref or arguments.refs or arguments.evidence):
        error("one of --ref, --refs, --lattices and --evidence is needed")
    if arguments.refs_format == "auto":
        error("--refs-format auto is for --lattices, whose ids tell the layout")
    arguments.refs_format = arguments.refs_format or "plain"


def _write_pairs(arguments: argparse.Namespace) -> int:
    """Write the lattice and the automaton of each segment, and the words of all."""
    from fstmetrics.contract import compile_for, has_machine
    from lattices.errors import OptionError
    from lattices.formats.openfst.codec import encode, with_labels
    from lattices.formats.streams import open_output
    from lattices.interop import to_columns

    metric = parse_metric_option(arguments.metric)
    weight = arguments.model_weight or 0.0
    table = _WordNumbers(arguments.symbols_in)
    segments = _segments_to_compose(arguments)
    names = [f"{name}.{kind}" for name in segments for kind in ("lattice", "metric")]
    targets = iter(_targets(arguments, names))
    os.makedirs(arguments.output, exist_ok=True)
    with progress(None, wanted=not arguments.quiet) as shown:
        for name, (lattice, references) in segments.items():
            evaluator = metric.against(references)
            if not has_machine(evaluator):
                raise OptionError(f"{metric} has no machine")
            prepared, machine = compile_for(lattice, evaluator)
            detail(f"{name}: {machine!r}")
            space = prepared.space
            final = space.final.copy()
            final[space.finals] *= weight
            weighted = space.replaced(score=weight * space.score, final=final)
            numbers = table.numbers(space)
            for columns in (to_columns(weighted), machine.to_columns(space)):
                with open_output(next(targets)) as stream:
                    stream.write(encode(with_labels(columns, numbers)))
            shown.done()
    if arguments.symbols_in is None:
        with open_output(os.path.join(arguments.output, "words.txt")) as stream:
            stream.write(table.lines())
    return 0


class _WordNumbers:
    """The numbers of words in the files: those of a table that is given, or as they come."""

    def __init__(self, path: str | None) -> None:
        from lattices.formats.openfst.symbols import read_symbols

        self.path = path
        self.number = {}
        if path is not None:
            self.number = {word: key for key, word in read_symbols(path).items() if key}

    def numbers(self, lattice: Lattice) -> IntColumn:
        """Return the number of each label of a lattice that an arc has; the others have 0."""
        import numpy as np

        from lattices.arrays import ints
        from lattices.errors import OptionError
        from lattices.formats.openfst.symbols import check_symbol

        numbers = np.zeros(len(lattice.vocabulary), np.int32)
        for label in np.unique(lattice.label[lattice.label > 0]).tolist():
            word = lattice.vocabulary.word(label)
            if word not in self.number:
                if self.path is not None:
                    raise OptionError(
                        f"lattice {lattice.id!r} has the word {word!r}, and --symbols-in "
                        f"{self.path} has not"
                    )
                check_symbol(word)
                self.number[word] = len(self.number) + 1
            numbers[label] = self.number[word]
        return ints(numbers)

    def lines(self) -> bytes:
        """Return the table as text."""
        from lattices.vocabulary import EPSILON_NAME

        entries = [(EPSILON_NAME, 0), *self.number.items()]
        return "".join(f"{word}\t{key}\n" for word, key in entries).encode()


def _segments_to_compose(
    arguments: argparse.Namespace,
) -> dict[str, tuple[Lattice, tuple[Reference, ...]]]:
    """Return the lattice of each segment, by its id or number, and its references."""
    from decoding.corpus.outcomes import Segment
    from lattices import read
    from lattices.algorithms import to_lattice
    from lattices.errors import OptionError
    from lattices.formats.reading import format_of, space_files

    segments: list[Segment] = []
    for given in arguments.lattices:
        for path in space_files(given):
            options = dict(arguments.option)
            found = format_of(path, arguments.input_format)
            if arguments.symbols_in is not None and "symbols" in found.options:
                options.setdefault("symbols", arguments.symbols_in)
            for space in read(path, found, **options):
                segments.append(Segment(len(segments), path, 0, space))
    references = open_references(arguments)
    if references is not None:
        references.settle(segment.id for segment in segments[:LOOKED_AT])
    made: dict[str, tuple[Lattice, tuple[Reference, ...]]] = {}
    for segment in segments:
        name = segment.id
        if name in made:
            raise OptionError(f"{segment.path}: a second segment with the id {name!r}")
        made[name] = to_lattice(segment.space), segment.references(references, required=True)
    return made


def _of_references(arguments: argparse.Namespace, vocabulary: Vocabulary) -> dict[str, Machine]:
    """Return the machine of each segment's references, and add their words."""
    from fstmetrics.contract import has_machine
    from lattices.errors import OptionError

    metric = parse_metric_option(arguments.metric)
    evaluators: dict[str, CompiledEvaluator] = {}
    for name, references in _segments(arguments):
        evaluator = metric.against(references)
        if not has_machine(evaluator):
            raise OptionError(f"{metric} has no machine")
        vocabulary.add_all(_units(evaluator, references))
        evaluators[name] = evaluator
    return {name: evaluator.machine(vocabulary) for name, evaluator in evaluators.items()}


def _compile_evidence(arguments: argparse.Namespace, vocabulary: Vocabulary) -> dict[str, Machine]:
    """Return the machine of linear MBR for each space, and add their words."""
    from decoding.minimum_risk.linear import linear_machine
    from fstmetrics import LinearBLEU
    from lattices import read
    from lattices.errors import OptionError

    metric = parse_metric_option(arguments.metric)
    if not isinstance(metric, LinearBLEU):
        raise OptionError(f"--evidence makes machines of linear-bleu, not of {metric}")
    scale = 1.0 if arguments.scale is None else arguments.scale
    machines = {}
    for number, space in enumerate(read(arguments.evidence, vocabulary=vocabulary), start=1):
        name = space.id if space.id and space.id not in machines else str(number)
        machines[name] = linear_machine(space, metric.factors, scale=scale)
    if not machines:
        arguments.parser.error(f"--evidence {arguments.evidence} has no spaces")
    return machines


def _segments(arguments: argparse.Namespace) -> Iterator[tuple[str, list[Reference]]]:
    """Iterate over the segments: a name, and the references."""
    if arguments.ref:
        yield "1", arguments.ref
        return
    references = require_references(arguments)
    if references.layout == "plain":
        for number in range(len(references)):
            yield str(number + 1), list(references.get("", number))
    for name in references.ids:
        yield name, list(references.get(name, 0))


def _targets(arguments: argparse.Namespace, names: list[str]) -> list[str]:
    """Return the file of each segment."""
    output: str = arguments.output
    is_directory = os.path.isdir(output) or output.endswith("/") or bool(arguments.lattices)
    if not is_directory and len(names) > 1:
        arguments.parser.error(
            f"{len(names)} segments go to {len(names)} files: -o is a directory "
            "(if it does not exist, end its name with /)"
        )
    if not is_directory:
        if output == STANDARD and not arguments.text and sys.stdout.isatty():
            arguments.parser.error("a binary file is nothing for a terminal: use -o or --text")
        return [output]
    for name in names:
        if "/" in name or os.sep in name or name.startswith("."):
            arguments.parser.error(f"the id {name!r} cannot be a file name")
    suffix = ".txt" if arguments.text else ".fst"
    targets = [os.path.join(output, name + suffix) for name in names]
    read = list_inputs(arguments)
    for target in targets:
        if file_identity(target) in read:
            arguments.parser.error(f"{target} is a file that this command reads")
    return targets


def _units(evaluator: CompiledEvaluator, references: list[Reference]) -> Iterator[str]:
    """Iterate over the symbols that references have for a metric: its words, or characters."""
    from fstmetrics.references import split_tokens
    from lattices.spaces import Lattice

    for reference in references:
        if not isinstance(reference, Lattice):
            words = split_tokens(reference)
            arcs = [(place, place + 1, word) for place, word in enumerate(words)]
            reference = Lattice.from_arcs(arcs, finals=[len(words)])
        yield from evaluator.prepare(reference).space.vocabulary


def _compile(machine: Machine, vocabulary: Vocabulary, text: bool) -> bytes:
    """Return the content of the file of one segment."""
    from lattices.formats.openfst.codec import encode

    columns = machine.to_columns(vocabulary)
    table = machine.symbols(vocabulary, columns)
    if text:
        _check_text(vocabulary)
        return "".join(_text_lines(columns, table)).encode("utf-8")
    return encode(columns, isymbols=table, osymbols=table)


def _whole_table(vocabulary: Vocabulary) -> SymbolTable:
    """Return the names of all words, and of the two symbols that are no words."""
    from fstmetrics.machine import OTHER_NAME
    from lattices.vocabulary import EPSILON_NAME

    return dict(enumerate((EPSILON_NAME, *vocabulary, OTHER_NAME)))


def _check_text(vocabulary: Vocabulary) -> None:
    """Refuse symbols that have a blank in them, as characters may: blanks separate columns."""
    from lattices.formats.openfst.symbols import check_symbol

    for word in vocabulary:
        check_symbol(word)


def _text_lines(columns: FstColumns, table: SymbolTable) -> Iterator[str]:
    """Iterate over the lines of AT&T's format, the start state first."""
    arcs: dict[int, list[str]] = {}
    for src, dst, label, cost in zip(
        columns.src.tolist(),
        columns.dst.tolist(),
        columns.ilabel.tolist(),
        columns.weight.tolist(),
        strict=True,
    ):
        arcs.setdefault(src, []).append(f"{src}\t{dst}\t{table[label]}{_spell(cost)}\n")
    final = columns.final.tolist()
    for state in sorted(range(len(final)), key=lambda state: state != columns.start):
        yield from arcs.get(state, ())
        if final[state] < float("inf"):
            yield f"{state}{_spell(final[state])}\n"


def _spell(cost: float) -> str:
    return f"\t{cost!r}" if cost else ""
