"""``fstmetrics features``: one more feature of every hypothesis, such as a model's score."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from decoding.cli.arguments import open_sources
from decoding.cli.writing import transform_and_write

if TYPE_CHECKING:
    from decoding.corpus.runner import Done, Failure
    from lattices.spaces import Space

SUMMARY = "one more feature of every hypothesis, from a file or a function"
DESCRIPTION = """\
Write n-best lists, lattices or forests with one more feature, such as the score of a language
model. Scores stay as they are; train finds a weight for the feature, and rescore applies it.

--add NAME=FILE    values of the hypotheses of lists: one a line, in the order of the input; or
                   lines of an id and the values of its hypotheses, one or more a line
--add NAME=python:MODULE:FUNCTION
                   FUNCTION of MODULE (installed, or MODULE.py in this directory) takes a list of
                   texts and returns one number each; one of two arguments takes the source of each
                   text, too, as quality estimation does. It is called once for a batch of segments,
                   with all different texts: the hypotheses of lists, the words of lattices and
                   forests, whose values add up along a path. Each worker process has its own.
"""
EXAMPLES = """\
examples:
  fstmetrics features nbest.jsonl --add lm=lm_scores.txt -o with_lm.jsonl
  fstmetrics features nbest.gz --add gpt=python:my_model:log_probs -o with_gpt.jsonl.gz
  fstmetrics features lattices.jsonl.gz --add oov=python:my_words:unknown | fstmetrics train -
"""
OPTIONS = """\
@input files SPACES
--add NAME=SOURCE: source, repeated, required  name of the feature, and its values: a file, or
    python:MODULE:FUNCTION; may be repeated
@sources a function of texts and sources
@target
@running
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    names = [name for name, _ in arguments.add]
    for name in names:
        if names.count(name) > 1:
            arguments.parser.error(f"--add {name} is given twice")
    from decoding.corpus.added_features import AddFeatures, FileValues, add_in_order, read_values

    sources = [(name, read_values(source)) for name, source in arguments.add]
    in_order = [
        (name, values)
        for name, values in sources
        if isinstance(values, FileValues) and values.in_order is not None
    ]
    of_segments = tuple(each for each in sources if each not in in_order)

    def then(outcomes: Iterable[Done[Space] | Failure]) -> Iterator[Done[Space] | Failure]:
        return add_in_order(outcomes, in_order)

    transform = AddFeatures(of_segments, open_sources(arguments))
    return transform_and_write(
        arguments, transform, then=then if in_order else None, sources=transform.segment_sources
    )
