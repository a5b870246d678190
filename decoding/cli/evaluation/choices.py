"""``fstmetrics choices``: 1-best, oracles and MBR under every metric, in one table."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from decoding.cli.arguments import (
    check_plot,
    make_settler,
    open_references,
    parse_metric_options,
    report_failures,
    resampling_progress,
    search_of,
    write_report,
)
from decoding.cli.running import check_results, corpus_outcomes
from decoding.cli.terminal import note

SUMMARY = "1-best, oracles and MBR under every metric, side by side"
DESCRIPTION = """\
Compare what could be chosen of a corpus. A row is a way to choose a sentence of every segment; a
column is what the corpus of these sentences scores under a metric.

  1-best         what the model likes best
  oracle         the best sentence of each segment under a metric: of its list of the --nbest best,
                 and of the whole lattice or forest where the metric can search it
  corpus oracle  the sentences that make the best corpus, where those of segments need not
  MBR            the sentence with the best expectation under the model: among the --nbest best; and
                 over all sentences of the space: by expected edits under WER and WRR, by fast
                 consensus under BLEU, and against random sentences under other metrics

Lists have rows for lists alone. Searches under BLEU or chrF keep 100,000 labels unless
--budget says otherwise; what is not proven is marked.
"""
EXAMPLES = """\
examples:
  fstmetrics choices lattices.jsonl.gz --metric wer grr bleu bleu-sbp --scale 10
  fstmetrics choices lattices/*.slf.gz --refs refs.txt --metric wer wrr grr --intervals --workers 2
  fstmetrics choices lattices.jsonl.gz --metric wer bleu --differences --plot choices.svg
  fstmetrics choices nbest.gz --refs refs.en --choose oracle mbr --format markdown -o choices.md
"""
OPTIONS = """\
@inputs LATTICES
@references
@metrics = wer grr bleu
--nbest N: whole number = 100  number of sentences in lists
--scale S: number = 1  scale of the model scores before MBR takes them for probabilities
--choose oracle|corpus|mbr: several  what to compare with the 1-best (default: all)
--intervals  bootstrap confidence intervals of all scores
--differences  differences from the 1-best in place of scores, with p-values by paired bootstrap,
    and with --intervals those of the differences; tsv, csv, parquet and json have scores as well
@resampling = 1000
@plot  write a plot
@search
@running
@table format
@output
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.cli.output.choice_table import choice_panels, choices_report
    from decoding.plots import line_plots
    from decoding.tasks.choices import BUDGET, KINDS, ChoicesTask, Comparing

    picture_format = check_plot(arguments)
    arguments.budget = arguments.budget or BUDGET
    references = open_references(arguments)
    task = ChoicesTask(
        parse_metric_options(arguments),
        references,
        nbest=arguments.nbest,
        scale=arguments.scale,
        choose=tuple(arguments.choose or KINDS),
        search=search_of(arguments),
    )
    comparing = Comparing(task)
    first = make_settler(references, arguments, required=True)
    with corpus_outcomes(task, arguments, first=first) as outcomes:
        for outcome in outcomes:
            comparing.add(outcome)
    check_results(comparing.totals, references, "compared")
    report_failures(comparing.totals.failures)
    found = comparing.finish()
    resampling = {name: getattr(arguments, name) for name in ("samples", "level", "seed")}
    with ExitStack() as stack:
        estimates = differences = None
        if found.segments < 2 and (arguments.intervals or arguments.differences):
            note("one segment has nothing to draw from: no intervals")
        else:
            if arguments.intervals:
                estimates = found.estimates(**resampling)
            if arguments.differences:
                total = (len(found) - 1) * len(found.metrics) * arguments.samples
                on_drawn = stack.enter_context(resampling_progress(total, arguments))
                differences = found.differences(**resampling, on_drawn=on_drawn)
    report = choices_report(found, estimates, differences, resampling)
    panels = choice_panels(found, estimates) if arguments.plot else []
    picture = line_plots(panels, picture_format) if panels else b""
    write_report(arguments, report.write(arguments.format), picture)
    failed = len(comparing.totals.failures)
    note(f"{found.segments} segments, {failed} failed")
    return 1 if failed else 0
