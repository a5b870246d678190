"""``fstmetrics oracle``: the sentences of lattices and forests that are best under a metric."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from decoding.cli.arguments import (
    check_plot,
    open_references,
    parse_metric_options,
    search_of,
    write_report,
)
from decoding.cli.option_table import FORMATS, LINES
from decoding.cli.running import (
    SENTENCE_ORACLES,
    check_one_sentence,
    explain_unscored,
    join_recordings,
    oracle_heading,
    scores_table,
    stamp_of,
    sum_up,
    write_results,
)
from decoding.cli.terminal import note, print_summary

if TYPE_CHECKING:
    from decoding.cli.output.breakdown import Breakdown
    from decoding.cli.tables import Report
    from decoding.corpus.outcomes import Failure
    from decoding.corpus.table import Results, Totals
    from decoding.extraction.search import Search
    from decoding.plots import Panel
    from decoding.tasks.curve import CurveTask
    from fstmetrics import Metric
    from lattices import Space
    from lattices.formats.references import References

SUMMARY = "the best sentences of lattices, forests and n-best lists under a metric"
DESCRIPTION = """\
Find the sentence of each lattice, forest or n-best list that is best under a metric, exactly.

tsv   (default) one line a segment, in the order of the input: id, score, words. The score is
      that of the first metric, with all digits it takes to read the same number back.
jsonl one object a line: id, rank, score, words, text, metric, scores (under every metric),
      stats, model_score, features, reference (which one), alignment, exact; and where it is
      not, bound, which no sentence surpasses, if that is known.
text  the words alone, an empty line for a segment that failed; kaldi: id and words; trn: words (id)

A summary of the corpus goes to standard error: what the model's own best would have scored,
and what the oracles score, under every metric.

BLEU, chrF and sums with one of them are searched by labels, within --budget and --memory; all
other metrics that search have a machine, whose best is always exact, or fails where it takes more
than --memory.

The best sentences need not make the best corpus, under BLEU and where references of several
lengths are given for a segment. With --corpus the sentences are chosen together, for the score
of the corpus; the summary then has the sentence oracles, the corpus oracle, and a bound that no
choice can surpass. All of the corpus is searched before anything is written.

--by, --top and --show add to the summary where the errors of oracles and of the model's best are;
--pra writes their alignments to a file.

With --at the output is a table instead: what the oracle among the k best sentences of the model
scores over the corpus, for every k; the k best of a list are its entries of the highest scores,
those of a lattice or forest are different sentences. With --densities it has the oracles of
lattices that are pruned to so many arcs for each word of the model's best. --plot draws either.
"""
EXAMPLES = """\
examples:
  fstmetrics oracle lattices.jsonl.gz --metric wer
  fstmetrics oracle lattices/*.slf.gz --refs refs.txt --metric grr wer --summary summary.json
  fstmetrics oracle lattices.jsonl.gz --metric bleu:smooth=add-k
  fstmetrics oracle lattices.jsonl.gz --metric bleu --corpus
  fstmetrics oracle lattices.jsonl.gz --metric wer --write-spaces best.jsonl.gz
  zcat nbest.gz | fstmetrics oracle - --refs refs.en -k 3 --format jsonl -o oracles.jsonl.gz
  fstmetrics oracle nbest.gz --refs refs.en --metric wer --at 1,2,4,8,16,100 --plot oracles.svg
  fstmetrics oracle lattices.jsonl.gz --metric wer --densities 2,5,10,20,50 --format latex
"""
OPTIONS = """\
@inputs LATTICES
@join
@references
@metrics = grr wer  ; the first one searches, the others score what it finds
@search
-k K: whole number = 1  number of best sentences of each segment to write
--worst  find the worst sentences instead of the best
--corpus  choose the sentences that together make the best corpus, with a bound; not with -k,
    --worst, --model-weight or --resume
--at K,K,...: counts  table of oracles among the K best sentences, such as 1,2,4,8,16,100
| --densities D,D,...: densities  table of oracles of lattices pruned to D arcs a word, such as
    2,5,10
--random  with --at: among K samples drawn at random, instead of the K best of the model, on average
    over all choices of K; lists only; with --metric exact it is pass@k
@plot  draw that table
--model-weight W: number = 0  search for metric + W * model score
--compose  also the best sentence that can be put together from the words of an n-best list, aligned
    as ROVER does: what is to be had by combining its entries; not with --corpus, --by or --worst
--wildcard WORD: several  words that match any word, on either side, under wer, wrr and grr
--write-spaces FILE  also write of each segment the lattice, forest or list of all its sentences
    that are best under the first metric, in the format of the file's name
@breakdown
@running
@resuming
--format: lines or tables  output format: tsv (default), jsonl, text, kaldi, trn or one of a
    plug-in's; with --at and --densities table (default), tsv, json or latex; csv and parquet for
    both (parquet needs pyarrow)
@output
@summary  the summary
"""


def _check_curve(arguments: argparse.Namespace) -> None:
    """Refuse what a table of oracles cannot be together with, and settle the format."""
    name = "--at" if arguments.at else "--densities" if arguments.densities else ""
    if arguments.random and not arguments.at:
        arguments.parser.error("--random goes with --at")
    formats = FORMATS if name else LINES
    arguments.format = arguments.format or formats[0]
    if arguments.format not in formats and (name or arguments.format in FORMATS):
        where = name or "lines of segments"
        arguments.parser.error(f"--format {arguments.format}: {where} can be {', '.join(formats)}")
    if not name:
        if arguments.plot:
            arguments.parser.error("--plot draws the table of --at or --densities")
        return
    others = [*_OF_SEGMENTS, "--corpus", "--compose", "--summary", "--write-spaces", *_BREAKDOWN]
    # nothing is searched with --at: the k best of the model are scored
    _exclude(arguments, name, *others, *(_SEARCH if arguments.at else ()))
    check_plot(arguments)


#: what results of segments are asked for by, what looks into them, and what the search takes
_OF_SEGMENTS = ("-k", "--worst", "--model-weight", "--resume")
_BREAKDOWN = ("--by", "--top", "--show", "--pra")
_SEARCH = ("--engine", "--budget", "--memory")
#: options that are always there: what they are if nobody has asked for them
_NOTHING_ASKED = {"-k": 1, "--model-weight": 0, "--engine": "auto"}


def _is_given(arguments: argparse.Namespace, option: str) -> bool:
    value = getattr(arguments, option.lstrip("-").replace("-", "_"))
    return bool(value) and value != _NOTHING_ASKED.get(option)


def _exclude(arguments: argparse.Namespace, name: str, *others: str) -> None:
    """Refuse options that cannot be together with another."""
    for other in others:
        if _is_given(arguments, other):
            arguments.parser.error(f"{name} and {other} exclude one another")


def _check_breakdown(arguments: argparse.Namespace) -> bool:
    """Tell whether errors are to be looked into, and refuse what that cannot be together with."""
    given = [name for name in _BREAKDOWN if _is_given(arguments, name)]
    for name in given:
        if arguments.resume:
            arguments.parser.error(f"{name} and --resume exclude one another")
        without = name == "--pra" or (arguments.summary and name != "--show")
        if arguments.quiet and not without:
            arguments.parser.error(f"{name} is part of the summary, which -q leaves out")
    return bool(given)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    with join_recordings(arguments) as lost:
        return _search(arguments) or int(lost)


def _search(arguments: argparse.Namespace) -> int:
    _check_curve(arguments)
    if arguments.corpus:
        _exclude(arguments, "--corpus", *_OF_SEGMENTS, *_BREAKDOWN)
    if arguments.compose:
        _exclude(arguments, "--compose", "--worst", "--corpus", *_BREAKDOWN)
    if arguments.write_spaces:
        _exclude(arguments, "--write-spaces", *_OF_SEGMENTS, "--corpus", *_BREAKDOWN)
    looks_into = _check_breakdown(arguments)
    from decoding.corpus.writers import WRITERS
    from decoding.tasks.oracle import KINDS, OracleTask

    metrics = _with_wildcards(parse_metric_options(arguments), arguments.wildcard or [])
    references = open_references(arguments)
    search = search_of(arguments)
    if arguments.at or arguments.densities:
        return _write_curve(arguments, metrics, references, search)
    check_one_sentence(arguments)
    settings = {name: getattr(arguments, name) for name in ("k", "worst", "model_weight")}
    task = OracleTask(metrics, references, **settings, search=search, compose=arguments.compose)
    running: dict[str, Any] = {
        "stamp": stamp_of(arguments, task),
        "done": "searched",
        "required": True,
    }
    writers = {"lines": WRITERS.get(arguments.format)}
    breakdown = None
    if arguments.corpus:
        from decoding.tasks.corpus_oracle import KEPT, CandidatesTask, CorpusDecision

        candidates = CandidatesTask(metrics, references, search)
        decision = CorpusDecision(candidates)
        summary = write_results(
            arguments, candidates, writers, **running,
            kept=KEPT, watch=decision.choose, conclude=decision.summary,
        )  # fmt: skip
    elif looks_into:
        from decoding.cli.output.breakdown import Breakdown, write_alignments

        searched = oracle_heading(metrics, what="worst" if arguments.worst else "")
        kinds = dict(zip(KINDS, (searched, "1-best"), strict=True))
        breakdown = Breakdown(metrics, kinds, arguments.by, arguments.top)

        def conclude(totals: Totals) -> dict[str, Any]:
            found = breakdown.conclude(task.summary(totals))
            # nothing else has its name yet
            write_alignments(arguments, [each.system for each in breakdown.details])
            return found

        summary = write_results(
            arguments, task, writers, **running,
            kept=("sentences", "references", "metadata"), watch=breakdown.watch, conclude=conclude,
        )  # fmt: skip
    elif arguments.write_spaces:
        from decoding.corpus.outcomes import Done
        from lattices import write

        spaces: list[Space] = []

        def collect(
            outcomes: Iterator[Done[Results] | Failure],
        ) -> Iterator[Done[Results] | Failure]:
            for outcome in outcomes:
                if isinstance(outcome, Done):
                    spaces.append(outcome.result["best_spaces"])
                yield outcome

        def write_best(totals: Totals) -> dict[str, Any]:
            write(arguments.write_spaces, spaces)
            return task.summary(totals)

        summary = write_results(
            arguments, task, writers, **running,
            kept=("best_spaces",), watch=collect, conclude=write_best,
        )  # fmt: skip
    else:
        summary = write_results(arguments, task, writers, **running)
    if not arguments.quiet:
        shown = [
            *_describe_errors(breakdown, arguments),
            _format_summary(summary, metrics, references),
        ]
        print_summary("\n".join(shown))
    return 1 if summary["failed"] else 0


def _with_wildcards(metrics: tuple[Metric, ...], words: Sequence[str]) -> tuple[Metric, ...]:
    """Return metrics under which these words match any word."""
    if not words:
        return metrics
    from fstmetrics import GRR, WRR, Normalised, Wildcards
    from lattices.errors import OptionError

    def change(metric: Metric) -> Metric:
        if isinstance(metric, Normalised):
            return replace(metric, metric=change(metric.metric))
        if not isinstance(metric, WRR | GRR) or metric.similarity is not None:
            raise OptionError(
                f"--wildcard is for wer, wrr and grr without a similarity, not for {metric}"
            )
        return replace(metric, similarity=Wildcards(words="|".join(words)))

    return tuple(map(change, metrics))


def _write_curve(
    arguments: argparse.Namespace,
    metrics: tuple[Metric, ...],
    references: References | None,
    search: Search,
) -> int:
    """Write the table of oracles among more and more sentences or arcs."""
    from decoding.plots import line_plots
    from decoding.tasks.curve import CurveTask

    picture_format = check_plot(arguments)
    sizes, densities = (tuple(sorted(each or ())) for each in (arguments.at, arguments.densities))
    task = CurveTask(metrics, references, sizes, densities, search, arguments.random)
    summary = sum_up(arguments, task, "searched")
    picture = line_plots(_curve_panels(task, summary), picture_format) if arguments.plot else b""
    write_report(arguments, _curve_report(task, summary).write(arguments.format), picture)
    for line in explain_unscored(summary, "the order of sentences"):
        note(line)
    return 1 if summary["failed"] else 0


def _curve_report(task: CurveTask, summary: dict[str, Any]) -> Report:
    """Return the table: a line for each point, with the corpus scores of its oracles."""
    from decoding.cli.tables import Report, format_scores, headings, score_headings

    labels, notes = headings(task.metrics)
    points, names = summary["points"], [str(metric) for metric in task.metrics]
    if task.random:
        notes.append("k samples drawn at random: expected statistics of the best, over all choices")
    name, size = ("k", "sentences") if task.at else ("density", "arcs a word")
    if len(task.metrics) > 1:
        notes.append(f"oracles under {labels[0]}, scored under every metric")
    if summary["decomposing"] < summary["segments"]:
        notes.append(SENTENCE_ORACLES)
    return Report(
        [name, size, *score_headings(task.metrics)],
        [
            [f"{point:g}", f"{mean:.1f}", *format_scores(task.metrics, scores)]
            for point, mean, *scores in points
        ],
        [*notes, f"{summary['segments']} segments, {summary['failed']} failed"],
        tsv_rows=lambda: [
            [name, size.replace(" ", "_"), *names],
            *([repr(cell) for cell in row] for row in points),
        ],
        content=lambda: {
            "segments": summary["segments"],
            "failed": summary["failed"],
            "points": [
                {
                    name: point,
                    size.replace(" ", "_"): mean,
                    "scores": dict(zip(names, scores, strict=True)),
                }
                for point, mean, *scores in points
            ],
        },
        left=(),
    )


def _curve_panels(task: CurveTask, summary: dict[str, Any]) -> list[Panel]:
    """Return a picture for each metric: densities are drawn where they were attained."""
    from decoding.cli.tables import headings
    from decoding.plots import BEST_K, oracle_panel

    labels, _ = headings(task.metrics)
    return [
        oracle_panel(
            label,
            BEST_K if task.at else "arcs a word",
            [(row[0] if task.at else row[1], row[2 + place]) for row in summary["points"]],
            "" if metric.higher_is_better else " (lower is better)",
        )
        for place, (label, metric) in enumerate(zip(labels, task.metrics, strict=True))
    ]


def _describe_errors(breakdown: Breakdown | None, arguments: argparse.Namespace) -> list[str]:
    """Return alignments, groups and errors, for people."""
    if breakdown is None:
        return []
    from decoding.cli.output.breakdown import alignments, detail_tables
    from decoding.cli.tables import table
    from decoding.cli.terminal import wants_colour

    shown = []
    if arguments.show:
        import shutil

        shown = alignments(
            [found.system for found in breakdown.details],
            every=arguments.show == "all",
            colour=wants_colour(sys.stderr),
            width=shutil.get_terminal_size((110, 24)).columns,
        )
    tables = detail_tables(breakdown.details, (), arguments.sort, joined=True)
    return [*shown, *(table(each.header, each.rows, each.left) + "\n" for each in tables)]


def _format_summary(
    summary: dict[str, Any], metrics: Sequence[Metric], references: References | None
) -> str:
    by = {"plain": ", references by line", "kaldi": ", references by id"}
    lines = [
        scores_table(metrics, summary, _kinds(summary, metrics)),
        *_which_oracles(summary),
        f"{summary['segments']} segments, {summary['failed']} failed"
        + (by[references.layout] if references is not None else ""),
        f"{summary['arcs']:,} arcs in {summary['seconds']:.2f} s, "
        f"{summary['arcs_per_second']:,.0f} arcs/s, engine {summary['engine']}",
    ]
    lines += explain_unscored(summary)
    unsmoothed = getattr(metrics[0], "smooth", "") == "none" and not summary["worst"]
    if unsmoothed and 10 * summary["zeros"] > summary["segments"]:
        name = str(metrics[0]).partition(":")[0]
        lines.append(
            f"{summary['zeros']} of {summary['segments']} segments have no sentence above 0: with "
            f"a smoothing, as in {name}:smooth=add-k, the search prefers those that match more"
        )
    unproven = summary["results"] - summary["exact"]
    rank = "worst" if summary["worst"] else "best"
    if unproven and "corpus" not in summary:
        lines.append(
            f"{unproven} of {summary['results']} results are the {rank} that were found, perhaps "
            f"not the {rank} there are (a larger --budget or --memory may tell, unless the metric "
            "is searched by a stand-in)"
        )
    return "\n".join(lines)


def _kinds(summary: dict[str, Any], metrics: Sequence[Metric]) -> dict[str, str]:
    """Return the scores of a metric that are shown, and what they are called."""
    if "corpus" in summary:
        return {
            "one_best": "1-best",
            "sentence_oracles": oracle_heading(metrics, False),
            "oracle": oracle_heading(metrics, what="corpus oracle"),
            "bound": "bound",
        }
    from decoding.tasks.oracle import COMPOSED

    worst = "worst" if summary["worst"] else ""
    shown = {
        "one_best": "1-best",
        "oracle": oracle_heading(metrics, summary["decomposes"], what=worst),
    }
    if COMPOSED in summary:
        shown[COMPOSED] = oracle_heading(metrics, what="composed oracle")
    return shown


def _which_oracles(summary: dict[str, Any]) -> list[str]:
    """Return lines that say what the oracles are, where there are two kinds."""
    if "corpus" not in summary:
        if summary["decomposes"] or summary["worst"]:
            return []
        return [SENTENCE_ORACLES]
    metric = summary["metric"]
    if summary["decomposes"]:
        same = f"sentence oracles and corpus oracle are the same for {metric} with these references"
        return [same + ("" if summary["gap"] is not None else ", as far as they are proven")]
    if summary["bound"] is None:
        proof = "no bound is known"
    elif summary["exact"]:
        proof = "proven"
    else:
        proof = f"at most {summary['gap']:.1e} from the best choice"
    return [
        "sentence oracles: the best of each segment; corpus oracle: the best choice for the corpus "
        f"({proof})"
    ]
