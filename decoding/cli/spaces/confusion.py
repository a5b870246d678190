"""``fstmetrics confusion``: confusion networks and confidences."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from decoding.cli.arguments import open_calibration
from decoding.cli.option_table import STANDARD
from decoding.cli.running import write_results
from decoding.cli.terminal import print_summary

if TYPE_CHECKING:
    from decoding.corpus.writers import Writer

SUMMARY = "confusion networks and word confidences, by expected edits"
DESCRIPTION = """\
Find the sentence with the fewest expected edits in each lattice, n-best list or forest, and write
its confusion network: bins of words with their posteriors, one of each word of the sentence and
one before, between and after them (Xu, Povey, Mangu & Zhu 2011).

jsonl     (default) one object a line: id, text, words (word, confidence, begin, end),
          expected_edits, objectives, settled, proven, model_score, bins (begin, end,
          words)
slots     JSON lines of word alternatives: id, text, slots (begin, end, words with confidences)
mesh      SRILM's word meshes
sausages  Kaldi's, as text; fstmetrics convert makes them binary
ctm       NIST's: id, channel, begin, duration, word, confidence; for lattices with times

Posteriors depend on the scale of the scores, which few decoders have right: set --scale, or have
'fstmetrics calibrate' find it, with a map of the confidences of words, and give its file by
--calibration.
"""
EXAMPLES = """\
examples:
  fstmetrics confusion slf/ --scale 0.1 --format ctm -o hypotheses.ctm
  fstmetrics confusion lattices.jsonl.gz --scale 15 --format mesh -o networks.mesh.gz
  fstmetrics confusion lattices.jsonl.gz --start hyps.txt --no-decode | jq .words
"""
OPTIONS = """\
@inputs SPACES
@calibration
--start FILE  initial sentences: lines in the order of the segments, Kaldi's 'id words', or trn, ctm
    or stm (default: the best paths)
--start-format: layouts = auto  layout of --start (default: auto, as
    --refs-format of fstmetrics oracle)
--starts K: whole number = 1  number of initial sentences, the K best; the best result is kept
--no-decode  keep the initial sentences; compute confidences and alternatives only
--iterations N: whole number  maximum number of improvements of a sentence (default: 100)
--format jsonl|slots|mesh|sausages|ctm = jsonl  output format
@running
@output
"""

_LAYOUTS = ("auto", "kaldi", "plain", "trn", "ctm", "stm", "tsv")


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if arguments.start == STANDARD and STANDARD in arguments.paths:
        arguments.parser.error("standard input (-) can be read only once")
    if arguments.starts > 1 and (arguments.start is not None or arguments.no_decode):
        arguments.parser.error("--starts goes neither with --start nor with --no-decode")
    from decoding.corpus.writers import json_lines
    from decoding.minimum_risk.edit import MOST_CHANGES
    from decoding.tasks.confusion import ConfusionTask, CtmWriter, NetworkWriter, slot_lines
    from lattices.formats.references import read_references

    calibration = open_calibration(arguments, arguments.format in ("jsonl", "ctm"))
    sentences = None
    if arguments.start is not None:
        sentences = read_references(
            [arguments.start], format=arguments.start_format, option="--start-format "
        )
    options = {
        "scale": arguments.scale,
        "starts": arguments.starts,
        # more than the native type holds is no limit
        "iterations": min(arguments.iterations or MOST_CHANGES, 2**31 - 1),
        "decode": not arguments.no_decode,
    }
    writer: Writer
    if arguments.format == "jsonl":
        writer = json_lines
    elif arguments.format == "slots":
        writer = slot_lines
    elif arguments.format == "ctm":
        writer = CtmWriter(arguments.channel, calibration)
    else:
        writer = NetworkWriter(arguments.format)
    task = ConfusionTask(sentences, options, calibration)
    found = write_results(arguments, task, {"lines": writer}, done="written")
    words, edits = found["words"], found["expected_edits"]
    share = f" ({edits / words:.2%})" if words else ""
    print_summary(f"{found['segments']} segments, {found['failed']} failed")
    print_summary(f"{edits:.1f} edits expected in {words} words{share}")
    return 1 if found["failed"] else 0
