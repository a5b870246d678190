"""``fstmetrics convert``: lattices and n-best lists from one format to another."""

from __future__ import annotations

import argparse

from decoding.cli.arguments import open_references
from decoding.cli.writing import transform_and_write
from lattices.errors import OptionError

SUMMARY = "lattices and n-best lists from one format to another"
DESCRIPTION = """\
Write lattices or n-best lists in another format, in the order of the input.

What the other format cannot hold (features, times, references, ...) is never dropped in
silence: a segment that has such a thing is an error, or with --lossy a note on standard error.
A segment that cannot be read or written is reported, and the others are written. No two
segments written may have the same id.

With --words, pieces of words become words: the same sentences with the same scores.
With --merge, a list becomes a lattice that shares what sentences begin and end with. With
--recombine N, sentences with N words in common also go on as the others do: the model has no score
of such sentences, and the feature recombined counts the changes.
With --refs, the references are attached to the segments, for formats that hold them (jsonl).
With --join, segments become recordings after that.
"""
EXAMPLES = """\
examples:
  fstmetrics convert lattices.jsonl.gz -o lattices.plf --lossy
  fstmetrics convert slf/ --refs text -o lattices.jsonl.gz --workers 4
  fstmetrics convert lat.1.gz --option symbols=words.txt -o fsts/ --to openfst --lossy
  fstmetrics convert pieces.jsonl --words ▁ -o words.jsonl
  fstmetrics convert samples.jsonl --recombine 2 -o lattices.jsonl
  zcat nbest.gz | fstmetrics convert - --to nbest-tsv --lossy | less
"""
OPTIONS = """\
@inputs SPACES
@join
@target
--words MARK  put pieces of words together: ▁ (SentencePiece), Ġ (byte-level BPE), @@ (subword-nmt),
    ## (WordPiece), or the token between words, such as | or ' '
--merge  make lattices of lists, in which sentences share what they begin and end with
--recombine N: whole number  the same, and recombine sentences that have N words in common
@references
@running
@resuming
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.corpus.transforms import (
        InWords,
        Merged,
        Transform,
        WithReferences,
        keep_unchanged,
    )

    references = open_references(arguments)
    transform: Transform = keep_unchanged if references is None else WithReferences(references)
    if arguments.words is not None:
        if not arguments.words:
            raise OptionError("--words is empty, expected what marks or separates words")
        transform = InWords(arguments.words, transform)
    if arguments.merge or arguments.recombine is not None:
        transform = Merged(arguments.recombine or 0, transform)
    if arguments.join is None:
        return transform_and_write(arguments, transform, references)
    from decoding.corpus.transforms import join_segments, recording_pattern

    pattern = recording_pattern(arguments.join)
    return transform_and_write(
        arguments, transform, references, then=lambda spaces: join_segments(spaces, pattern)
    )
