"""``fstmetrics compile``: a metric and a reference as an OpenFst file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from decoding.cli.arguments import (
    STANDARD,
    add_reference_ids,
    file_identity,
    identities_read,
    parsed_metric,
    required_references,
)
from decoding.cli.terminal import detail, progress

if TYPE_CHECKING:
    from fstmetrics.contract import CompiledEvaluator, Machine
    from fstmetrics.references import Reference
    from lattices.formats.openfst.codec import FstColumns, SymbolTable
    from lattices.vocabulary import Vocabulary

SUMMARY = "a metric and a reference as an OpenFst automaton"
DESCRIPTION = """\
Compile a metric and the references of a segment to an OpenFst acceptor.

The cost of the best path of a sentence is minus its score (minus 1 - score for an error rate; for
linear-bleu minus its linear form). The words are those of the references; <other> is every other
word. Costs are in single precision in the binary form.

With --evidence, the automaton of linear MBR: that of linear-bleu, in which n-grams weigh their
posteriors in a lattice, a forest or a list. Composed with the lattice, its best path is what
fstmetrics mbr --method linear chooses.
"""
EXAMPLES = """\
examples:
  fstmetrics compile --metric grr:n=2 --ref "the cat sat" --text
  fstmetrics compile --metric wer --ref "the cat sat" --symbols words.syms -o reference.fst
  fstmetrics compile --metric wer --refs text --refs-format kaldi -o machines/
  fstmetrics compile --metric linear-bleu:p=0.7 --evidence lattices.jsonl --scale 0.3 -o machines/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--metric", metavar="SPEC", default="grr", help="metric to compile (default: grr)"
    )
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument(
        "--ref",
        metavar="WORDS",
        action="append",
        help="a reference; may be repeated, for several references of one segment",
    )
    given.add_argument(
        "--refs",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="reference files, one for each reference of a segment, one line a segment",
    )
    given.add_argument(
        "--evidence",
        metavar="FILE",
        help="spaces instead of references, for linear-bleu: n-grams weigh their posteriors",
    )
    parser.add_argument(
        "--scale",
        metavar="S",
        type=float,
        help="what scores of --evidence are multiplied by before they become probabilities "
        "(default: 1)",
    )
    parser.add_argument(
        "--refs-format",
        choices=("plain", "kaldi", "trn", "ctm", "stm"),
        default="plain",
        help="layout of the references (default: plain); if it has ids, such as kaldi's "
        "'id words', they name the output files",
    )
    add_reference_ids(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        default=STANDARD,
        help="output file, or a directory for one file a segment (default: -, standard output)",
    )
    parser.add_argument("--symbols", metavar="FILE", help="also write the symbol table, as text")
    parser.add_argument(
        "--text",
        action="store_true",
        help="write AT&T text, as read by fstcompile --acceptor, instead of binary",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from lattices.formats.streams import created
    from lattices.vocabulary import Vocabulary

    vocabulary = Vocabulary()
    if arguments.evidence is None:
        machines = _of_references(arguments, vocabulary)
    else:
        machines = _of_evidence(arguments, vocabulary)
    targets = _targets(arguments, list(machines))
    # all is made before anything is written
    contents = []
    with progress(None, wanted=not arguments.quiet) as shown:
        for name, machine in machines.items():
            detail(f"{name}: {machine!r}")
            contents.append(_compiled(machine, vocabulary, arguments.text))
            shown.done()
    if arguments.symbols:
        _check_text(vocabulary)
    if len(targets) > 1 or targets[0] != arguments.output:
        os.makedirs(arguments.output, exist_ok=True)
    for target, content in zip(targets, contents, strict=True):
        with created(target) as stream:
            stream.write(content)
    if arguments.symbols:
        with created(arguments.symbols) as stream:
            stream.write(
                "".join(
                    f"{word}\t{key}\n" for key, word in _whole_table(vocabulary).items()
                ).encode()
            )
    return 0


def _of_references(arguments: argparse.Namespace, vocabulary: Vocabulary) -> dict[str, Machine]:
    """Return the machine of each segment's references, and add their words."""
    from fstmetrics.contract import has_machine
    from lattices.errors import OptionError

    if arguments.scale is not None:
        arguments.parser.error("--scale is for --evidence: references have no scores")
    metric = parsed_metric(arguments.metric)
    evaluators: dict[str, CompiledEvaluator] = {}
    for name, references in _segments(arguments):
        evaluator = metric.against(references)
        if not has_machine(evaluator):
            raise OptionError(f"{metric} has no machine")
        vocabulary.add_all(_units(evaluator, references))
        evaluators[name] = evaluator
    return {name: evaluator.machine(vocabulary) for name, evaluator in evaluators.items()}


def _of_evidence(arguments: argparse.Namespace, vocabulary: Vocabulary) -> dict[str, Machine]:
    """Return the machine of linear MBR for each space, and add their words."""
    from decoding.minimum_risk.linear import linear_machine
    from fstmetrics import LinearBLEU
    from lattices import read
    from lattices.errors import OptionError

    metric = parsed_metric(arguments.metric)
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
    if arguments.ref is not None:
        yield "1", arguments.ref
        return
    references = required_references(arguments)
    if references.layout == "plain":
        for number in range(len(references)):
            yield str(number + 1), list(references.get("", number))
    for name in references.ids:
        yield name, list(references.get(name, 0))


def _targets(arguments: argparse.Namespace, names: list[str]) -> list[str]:
    """Return the file of each segment."""
    output: str = arguments.output
    is_directory = os.path.isdir(output) or output.endswith("/")
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
    read = identities_read(arguments)
    for target in targets:
        if file_identity(target) in read:
            arguments.parser.error(f"{target} is a file that this command reads")
    return targets


def _units(evaluator: CompiledEvaluator, references: list[Reference]) -> Iterator[str]:
    """Iterate over the symbols that references have for a metric: its words, or characters."""
    from fstmetrics.references import tokens_of
    from lattices.spaces import Lattice

    for reference in references:
        if not isinstance(reference, Lattice):
            words = tokens_of(reference)
            arcs = [(place, place + 1, word) for place, word in enumerate(words)]
            reference = Lattice.from_arcs(arcs, finals=[len(words)])
        yield from evaluator.prepare(reference).space.vocabulary


def _compiled(machine: Machine, vocabulary: Vocabulary, text: bool) -> bytes:
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
        arcs.setdefault(src, []).append(f"{src}\t{dst}\t{table[label]}{_spelled(cost)}\n")
    final = columns.final.tolist()
    for state in sorted(range(len(final)), key=lambda state: state != columns.start):
        yield from arcs.get(state, ())
        if final[state] < float("inf"):
            yield f"{state}{_spelled(final[state])}\n"


def _spelled(cost: float) -> str:
    return f"\t{cost!r}" if cost else ""
