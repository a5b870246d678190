"""``fstmetrics tune``: scales and penalties that do best on a development set."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from decoding.cli.arguments import (
    check_plot,
    open_references,
    parse_metric_option,
)
from decoding.cli.choice.tune_mbr import try_points
from decoding.cli.option_table import STANDARD, values
from decoding.cli.terminal import print_summary

if TYPE_CHECKING:
    from decoding.minimum_risk.tuning import TuningTable
    from decoding.tasks.tune import Axis, WeightGrid
    from lattices.spaces import Space

SUMMARY = "tune scales, word penalty or any weights on a development set"
DESCRIPTION = """\
Try all combinations of some weights, as Kaldi's score.sh does, and write what the best sentences
score with each, best first, as a tab-separated table: the values, and the score. All points are
tried in one pass over lattices or n-best lists.

  --acoustic-scale  weights of the feature acoustic; --lmwt has their inverses, as score.sh
  --lm-scale        weights of the feature graph (Kaldi), language (HTK, SRILM) or lm
  --word-ins-penalty  what each word costs: the weight of the feature words, negated
  --grid            weights of any feature
  --scale           of 'fstmetrics mbr', which then makes the choice, by the metric

Other features keep the weights that the scores are made of, or have those of --weights. The best
point becomes a weight file (--write-weights), which 'fstmetrics rescore' applies.
"""
EXAMPLES = """\
examples:
  fstmetrics tune dev/ --refs text --lmwt 7,8,...,17 --word-ins-penalty 0,0.5,1 -o table.tsv
  fstmetrics tune dev.jsonl.gz --grid tm=0.5,1,2 --grid lm=1,2 --metric bleu --plot grid.svg
  fstmetrics tune dev/ --refs text --acoustic-scale 0.05,0.1,0.2 --scale 0.5,1,2 --workers 2
  fstmetrics tune dev/ --refs text --lm-scale 8,10,...,20 --write-weights weights.txt
  fstmetrics rescore test/ --weights weights.txt -o best.tsv
"""
OPTIONS = """\
@input files DEV
@references
--metric SPEC = wer  metric to tune for
@score style
--acoustic-scale X,X,...: values  weights of acoustic scores, such as 0.05,0.1,...,0.2
| --lmwt X,X,...: values  their inverses, such as 7,8,...,17
--lm-scale X,X,...: values  weights of language scores
--word-ins-penalty X,X,...: values  costs of a word, such as 0,0.5,1; where the first is negative
    after an equals sign, as --word-ins-penalty=-1,0,1
--grid NAME=X,X,...: pair, repeated  weights of a feature; may be repeated
--scale X,X,...: values  decide by MBR at these scales
--weights FILE  weights of the other features (default: those that the scores are made of)
--write-weights FILE  also write the weights of the best point
@plot  draw a heat map of the scores
@running
@output
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    check_plot(arguments)
    metric = parse_metric_option(arguments.metric)
    grid = _grid(arguments)
    references = open_references(arguments)
    table, code = try_points(arguments, grid, metric, references, _tsv)
    best = table.best
    if arguments.write_weights:
        from lattices.formats.weights import write_weights

        write_weights(best.weights, arguments.write_weights)
    from decoding.cli.tables import format_score, score_headings

    shown = ", ".join(f"{name} {value:g}" for name, value in best.values.items())
    lines = [
        f"{table.segments} segments, {len(table.points)} points: {score_headings([metric])[0]} "
        f"{format_score(metric, table.one_best)} (1-best), {format_score(metric, best.score)} "
        f"(best: {shown})"
    ]
    if arguments.write_weights:
        lines.append(f"fstmetrics rescore SPACES --weights {arguments.write_weights}")
    print_summary("\n".join(lines))
    return code


def _grid(arguments: argparse.Namespace) -> WeightGrid:
    """Return the grid that is asked for; the scale of MBR decisions is its last axis."""
    from decoding.tasks.tune import Axis, WeightGrid
    from lattices.formats.weights import read_weights
    from lattices.spaces.scales import ACOUSTIC, LANGUAGE, WORDS, find_feature, weights_of

    axes: list[Axis] = []
    if arguments.acoustic_scale:
        axes.append(Axis("acoustic-scale", tuple(arguments.acoustic_scale), *ACOUSTIC))
    if arguments.lmwt:
        axes.append(Axis("lmwt", tuple(arguments.lmwt), *ACOUSTIC, "inverse"))
    first = _read_first(arguments)
    if arguments.lm_scale:
        if first is None:
            arguments.parser.error(
                "--lm-scale looks into the first file for the name of the feature; from standard "
                "input say --grid NAME=X,X,..."
            )
        names = () if first is None else first.feature_names
        feature = find_feature(names, LANGUAGE, "--lm-scale")
        axes.append(Axis("lm-scale", tuple(arguments.lm_scale), feature))
    if arguments.word_ins_penalty:
        penalties = tuple(arguments.word_ins_penalty)
        axes.append(Axis("word-ins-penalty", penalties, WORDS, "penalty"))
    for name, text in arguments.grid:
        try:
            axes.append(Axis(name, tuple(values(text)), name))
        except argparse.ArgumentTypeError as problem:
            arguments.parser.error(f"argument --grid: {name}={problem}")
    if arguments.scale:
        axes.append(Axis("scale", tuple(arguments.scale)))
    if not axes:
        arguments.parser.error(
            "nothing to try: give --acoustic-scale, --lmwt, --lm-scale, --word-ins-penalty, "
            "--grid or --scale"
        )
    weighted = any(axis.feature for axis in axes)
    if arguments.write_weights and not weighted:
        arguments.parser.error("--write-weights: a scale of MBR is no weight; say 'mbr --scale'")
    base = None
    if arguments.weights:
        base = dict(read_weights(arguments.weights))
    elif weighted and first is not None:
        base = weights_of(first)
    elif arguments.write_weights:
        arguments.parser.error("--write-weights from standard input needs --weights")
    metric = parse_metric_option(arguments.metric) if arguments.scale else None
    return WeightGrid(tuple(axes), base, metric)


def _read_first(arguments: argparse.Namespace) -> Space | None:
    """Return the first segment, whose features and weights are those of all; None of a pipe."""
    from lattices import read
    from lattices.formats.streams import files_of

    if arguments.paths[0] == STANDARD:
        return None
    path = next(iter(files_of(arguments.paths[0])), arguments.paths[0])
    return next(iter(read(path, arguments.input_format, **dict(arguments.option))), None)


def _tsv(table: TuningTable) -> str:
    names = list(table.best.values)
    lines = ["\t".join([*names, table.metric])]
    lines += ["\t".join(map(repr, [*point.values.values(), point.score])) for point in table.points]
    return "".join(line + "\n" for line in lines)
