"""``fstmetrics study``: what metrics make of systems, lattices and people, as tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from decoding.cli.arguments import (
    check_plot,
    open_human,
    open_references,
    parse_metric_option,
    parse_metric_options,
    read_systems,
    report_failures,
    resampling_progress,
    write_report,
)
from decoding.cli.option_table import add_options
from decoding.cli.terminal import note

if TYPE_CHECKING:
    from decoding.cli.tables import Report
    from decoding.plots import Panel
    from fstmetrics import BLEU
    from fstmetrics.statistics.systems import System
    from lattices.formats.references import References

SUMMARY = "study metrics: options, deletion, genres, ranks, disagreements, BLEU in characters"
DESCRIPTION = """\
Study metrics on real outputs, as the papers do that define them.

  sweep          scores, and their correlation with people, under values of one or two options
  char-bleu      which order of BLEU in characters is like which order in words
  genres         choices of systems that are better on each genre, and worse on all together
  deletion       systems that say nothing for a share of the segments
  word-deletion  training on lattices in which words, or whole sentences, may be left out
  ranks          systems in the order of each metric, and of people
  disagreements  segments that one metric puts above its mean, and another one below
"""
EXAMPLES = """\
examples:
  fstmetrics study char-bleu newstest2015.*.de-en --refs newstest2015-ref.en --plot orders.svg
  fstmetrics study sweep *.en --refs refs.en --metric tbleu --option epsilon --values 0,0.05,...,1
  fstmetrics study sweep *.en --refs refs.en --metric grr --option alpha --values=-1,-0.9,...,1 \\
    --option beta --values 0,0.5,1 --human scores.txt
  fstmetrics study deletion *.en --refs refs.en --share 0.05 --metric bleu bleu-sbp grr wer
  fstmetrics study ranks *.en --refs refs.en --human scores.txt --metric bleu wer --plot ranks.svg
"""
_CHAR_BLEU = """\
Compare BLEU in characters with BLEU in words, segment by segment over all systems.

--show orders   for each order N in words, the order M in characters that has the highest Pearson
                correlation, the one that has the highest kappa over ten grades, and the first for
                which most segments score at most as high as with N - 1 words
--show lengths  the correlation of the highest orders for each length of a sentence
--show systems  the mean scores of systems under both, and their ranks
--show counts   how many sentences are shorter than the orders, and score 0

They are Tables 1 to 4 of Denoual and Lepage (2005).
"""
_SWEEP = """\
Score systems under many values of a numeric option of a metric, or of two (--option and --values
twice), of which the second one gets a column for each of its values.

With human scores (as for 'fstmetrics correlate'), the correlation for each value: Pearson's over
systems, WMT14's tau over outputs of segments. It is of quality, so that 1 is best for error rates,
too.
"""
_GENRES = """\
Choose a system for each genre, and compare all choices with each other: how often is one better on
every genre, and how often is that one worse on the corpus of all genres (Chiang et al. 2008, 3.2)?
"""
_DELETION = """\
Leave the outputs of each system empty that are least like those of the other systems, until a share
of the words is gone, and see whether a metric minds (Chiang et al. 2008, 3.3). With --attack,
choose by each metric in turn, with the references in view, those whose loss gains most.
"""
_WORD_DELETION = """\
Add an arc beside each word of a lattice that leaves it out, or one beside the whole sentence, with
a feature of its own; train for each --metric by MERT; show how much is left out and what is scored
then, on the lattices trained on and on those held out (Chiang et al. 2008, Tables 6 to 8).
"""
_RANKS = """\
Put systems into the order of each metric, beside that of people (Wang and Merlo 2016, Figure 2).
"""
_DISAGREEMENTS = """\
Find segments on which two metrics disagree: one is at least --threshold standard deviations away
from its mean, the other one on the other side of its own (Pozar and Charniak 2006). With human
scores of segments, count how often each of them is on the side of people.
"""


_SYSTEMS = """\
@systems HYPS  files of hypotheses, one a system
@reference files required
"""
_CHAR_BLEU_OPTIONS = """\
--metric SPEC = bleu  BLEU with its options but for order and unit, such as bleu:tokenize=13a
--show orders|lengths|systems|counts = orders  what to show
--max-n N: whole number = 4  highest order in words
--max-m M: whole number = 20  highest order in characters
--order M: whole number = 18  order in characters that is compared with the highest in words, except
    under --show orders
--spaces keep|drop = keep  keep or drop the blanks between words
--share X: number = 0.9  share of segments for the last criterion
@plot  draw the orders
"""
_SWEEP_OPTIONS = """\
--metric SPEC: required  metric, such as tbleu:tokenize=13a
--option NAME: repeated, required  numeric option of the metric, such as epsilon, gamma or
    similarity.epsilon; may be repeated once
--values LIST: values, repeated, required  values of the option, such as 0,0.1,0.5 or, in equal
    steps, 0,0.05,...,1; write --values=-1,0 if the first is negative; may be repeated once
@human
@resampling = 1000
@plot  write a plot
"""
_GENRES_OPTIONS = """\
@metrics = bleu bleu-sbp grr wer
--by GROUP: required  genres: a FILE of 'id genre', or of one genre a line; a regular expression for
    ids; speaker; or length (of the reference)
"""
_DELETION_OPTIONS = """\
@metrics = bleu bleu-sbp grr wer
--share LIST: values = 0.03,0.05,0.08,0.1  shares of the words to delete
--attack  choose segments by each metric, with the references in view, not by agreement
@resampling = 1000
@plot  draw the change over the share of words
"""
_WORD_DELETION_OPTIONS = """\
@input files SPACES
@references
@metrics = bleu bleu-sbp  ; each is trained for
--judge SPEC: several  other metrics to score by
--start FILE: required  initial weights of the features
--test FILE: several  held-out lattices
--test-refs FILE: several  references of the held-out lattices
@resampling = 1000
"""
_RANKS_OPTIONS = """\
@metrics = bleu wer
@human
@plot  draw the ranks
"""
_DISAGREEMENTS_OPTIONS = """\
@metrics = grr bleu:mean=arithmetic,brevity=none,lowercase=true  ; two of them
@human
--threshold Z: number = 0.5  standard deviations from the mean
--top N: whole number = 20  rows of the table
"""
_OUTPUT = """\
@table format
@output
@volume
"""


class Study(NamedTuple):
    """A study: its options, and what makes a table and curves of them."""

    summary: str
    description: str
    options: str
    run: Callable[[argparse.Namespace], tuple[Report, Sequence[Panel]]]


def add_studies(parser: argparse.ArgumentParser) -> None:
    """Add the studies, each with its options."""
    studies = parser.add_subparsers(dest="study", metavar="STUDY", required=True)
    for name, each in STUDIES.items():
        study = studies.add_parser(
            name,
            help=each.summary,
            description=each.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add_options(study, each.options + _OUTPUT)
        study.set_defaults(study_parser=study, plot=None)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    picture_format = check_plot(arguments)
    report, panels = STUDIES[arguments.study].run(arguments)
    picture = b""
    if arguments.plot:
        from decoding.plots import line_plots

        picture = line_plots(panels, picture_format)
    write_report(arguments, report.write(arguments.format), picture)
    return 0


def _run_char_bleu(arguments: argparse.Namespace) -> tuple[Report, Sequence[Panel]]:
    from fstmetrics import BLEU
    from fstmetrics.statistics.studies.characters import char_bleu_metrics
    from lattices.errors import OptionError

    base = parse_metric_option(arguments.metric)
    if not isinstance(base, BLEU):
        raise OptionError(f"{base}: the study is of bleu")
    orders = arguments.show == "orders"
    if arguments.plot and not orders:
        arguments.parser.error("--plot draws --show orders")
    # by length, the best order is looked for; other tables need one
    highest = arguments.max_m if orders else arguments.order
    if arguments.show == "lengths":
        highest = max(arguments.max_m, arguments.order)
    metrics = char_bleu_metrics(
        base, max_n=arguments.max_n, max_m=highest, spaces=arguments.spaces == "keep"
    )
    systems, references = read_systems(arguments, metrics, arguments.paths, keep=False)
    return _char_bleu_tables(arguments, metrics, systems, references)


def _char_bleu_tables(
    arguments: argparse.Namespace,
    metrics: tuple[BLEU, BLEU],
    systems: Sequence[System],
    references: References,
) -> tuple[Report, Sequence[Panel]]:
    import numpy as np

    from decoding.cli.output import study as output
    from decoding.cli.tables import Report
    from fstmetrics.statistics.human import short_names
    from fstmetrics.statistics.studies import characters
    from fstmetrics.statistics.systems import pair_matrices

    matrices = pair_matrices(systems, references)
    rows = [np.concatenate(of_metric) for of_metric in zip(*matrices, strict=True)]
    if arguments.show == "orders":
        found = characters.char_bleu_equivalents(metrics, rows, share=arguments.share)
        return output.char_bleu_report(found, metrics, len(rows[0])), output.char_bleu_panels(found)
    records: Sequence[Any]
    if arguments.show == "lengths":
        records = characters.char_bleu_by_length(metrics, rows, arguments.order)
    elif arguments.show == "systems":
        names = short_names([system.name for system in systems])
        records = characters.char_bleu_systems(metrics, dict(zip(names, matrices, strict=True)))
    else:
        lengths = rows[0][:, -2], rows[1][:, -2]
        records = characters.short_sentences(metrics[0].order, metrics[1].order, lengths)
    notes = [f"{len(rows[0])} sentences; {metrics[0]}", f"in characters {metrics[1]}"]
    return Report.of_rows([one.to_dict() for one in records], notes), ()


def _run_sweep(arguments: argparse.Namespace) -> tuple[Report, Sequence[Panel]]:
    from decoding.cli.output.study import grid_panels, grid_report, sweep_panels, sweep_report
    from fstmetrics.statistics.studies.sweeps import replace_option, sweep_over_scores
    from lattices.errors import OptionError

    names, lists = arguments.option, arguments.values
    if len(names) != len(lists) or len(names) > 2 or len(set(names)) < len(names):
        arguments.parser.error("expected --option and --values once, or twice for two options")
    base = parse_metric_option(arguments.metric)
    # one sweep of the first option for each value of the second
    bases = [replace_option(base, names[1], value) for value in lists[1]] if lists[1:] else [base]
    metrics = [replace_option(each, names[0], value) for each in bases for value in lists[0]]
    human, files = None, {path: path for path in dict.fromkeys(arguments.paths)}
    if arguments.human is not None:
        human, files = open_human(arguments, list(files))
    elif arguments.human_level is not None:
        arguments.parser.error("--human-level is of --human")
    if lists[1:] and human is None and len(files) > 1:
        raise OptionError(
            "two options of several systems without human scores: give --human, or one system"
        )
    # many metrics for many segments: too much to keep, and quickly made
    systems, references = read_systems(arguments, tuple(metrics), [*files.values()], keep=False)
    by_name = dict(zip(files, systems, strict=True))
    with resampling_progress(len(metrics) * arguments.samples, arguments) as on_drawn:
        sweeps = [
            sweep_over_scores(
                each,
                names[0],
                lists[0],
                by_name,
                references,
                human=human,
                begin=place * len(lists[0]),
                samples=arguments.samples,
                level=arguments.level,
                seed=arguments.seed,
                on_drawn=on_drawn,
            )
            for place, each in enumerate(bases)
        ]
    for sweep in sweeps:
        for line in sweep.notes():
            note(line)
    if lists[1:]:
        report = grid_report(sweeps, names[1], lists[1], arguments)
        return report, grid_panels(sweeps, names[1], lists[1])
    return sweep_report(sweeps[0], arguments), sweep_panels(sweeps[0])


def _run_genres(arguments: argparse.Namespace) -> tuple[Report, Sequence[Panel]]:
    from decoding.cli.output.breakdown import group_by
    from decoding.cli.output.study import genres_report
    from fstmetrics.statistics.breakdown import LENGTH, grouping
    from fstmetrics.statistics.human import short_names
    from fstmetrics.statistics.studies.genres import genre_mixing

    if arguments.by != LENGTH:
        # what is wrong with it is better said before scoring
        grouping(arguments.by)
    metrics = parse_metric_options(arguments)
    systems, _ = read_systems(
        arguments, metrics, arguments.paths, keep=False, sentences=arguments.by == "length"
    )
    names = short_names([system.name for system in systems])
    group_of = group_by(systems[0], arguments.by)
    members: dict[str, list[str]] = {}
    for id in systems[0].stats:
        members.setdefault(group_of(id), []).append(id)
    sums = {
        genre: {
            name: [matrix.sum(axis=0) for matrix in system.matrices(ids)]
            for name, system in zip(names, systems, strict=True)
        }
        for genre, ids in members.items()
    }
    found = [
        genre_mixing(
            metric,
            {genre: {name: of[name][place] for name in of} for genre, of in sums.items()},
        )
        for place, metric in enumerate(metrics)
    ]
    return genres_report(found, {genre: len(ids) for genre, ids in members.items()}), ()


def _run_deletion(arguments: argparse.Namespace) -> tuple[Report, Sequence[Panel]]:
    from decoding.cli.output.study import deletion_panels, deletion_report
    from fstmetrics.contract import corpus_stats
    from fstmetrics.statistics.human import short_names
    from fstmetrics.statistics.studies.silence import Outputs, check_share
    from fstmetrics.statistics.systems import pair_matrices
    from lattices.errors import OptionError

    if not arguments.attack:
        for share in arguments.share:
            check_share(share)
        if len(arguments.paths) < 2:
            raise OptionError("agreement needs two systems or more; --attack needs one")
    metrics = parse_metric_options(arguments)
    systems, references = read_systems(arguments, metrics, arguments.paths, sentences=True)
    names = short_names([system.name for system in systems])
    ids = list(systems[0].stats)
    given = [systems[0].sentences[id].references for id in ids]
    outputs = Outputs(
        metrics,
        {
            name: [system.sentences[id].words for id in ids]
            for name, system in zip(names, systems, strict=True)
        },
        dict(zip(names, pair_matrices(systems, references), strict=True)),
        [corpus_stats(metric, [()] * len(ids), given) for metric in metrics],
    )
    trials = (
        len(names) * len(metrics) * (len(metrics) if arguments.attack else len(arguments.share))
    )
    with resampling_progress(trials * arguments.samples, arguments) as on_drawn:
        how = {
            "samples": arguments.samples,
            "seed": arguments.seed,
            "level": arguments.level,
            "on_drawn": on_drawn,
        }
        if arguments.attack:
            found = outputs.attacks(**how)
        else:
            found = outputs.silence(arguments.share, **how)
    return deletion_report(found, arguments), deletion_panels(found)


def _run_word_deletion(arguments: argparse.Namespace) -> tuple[Report, Sequence[Panel]]:
    from decoding.cli.output.study import word_deletion_report
    from decoding.cli.training.corpus import read_corpus, read_held_out
    from decoding.word_deletion import word_deletion
    from lattices import Lattice
    from lattices.errors import OptionError
    from lattices.formats.weights import read_weights

    if arguments.test_refs and not arguments.test:
        arguments.parser.error("--test-refs goes with --test")
    # reading is done by this process: all segments end up in its memory
    arguments.workers, arguments.dask = 1, None
    metrics = parse_metric_options(arguments)
    judges = [
        parse_metric_option(one, normalise=arguments.normalise) for one in arguments.judge or []
    ]
    start = dict(read_weights(arguments.start))
    read = {"dev": read_corpus(arguments, open_references(arguments))}
    if arguments.test:
        read["test"] = read_held_out(arguments, arguments.test, arguments.test_refs)
    corpora = {}
    for name, corpus in read.items():
        report_failures(corpus.failures)
        lattices = [space for space in corpus.spaces if isinstance(space, Lattice)]
        if len(lattices) < len(corpus.spaces):
            raise OptionError("words are deleted in lattices, not in forests or lists")
        corpora[name] = (lattices, corpus.references)
    found = word_deletion(
        corpora,
        metrics,
        judges=judges,
        start=start,
        seed=arguments.seed,
        resampling={
            "samples": arguments.samples,
            "seed": arguments.seed,
            "level": arguments.level,
        },
    )
    return word_deletion_report(found, arguments), ()


def _run_ranks(arguments: argparse.Namespace) -> tuple[Report, Sequence[Panel]]:
    from decoding.cli.output.study import ranks_panel, ranks_report
    from fstmetrics.statistics.human import short_names
    from fstmetrics.statistics.studies.ranks import rank_systems

    metrics = parse_metric_options(arguments)
    said, files = None, {path: path for path in dict.fromkeys(arguments.paths)}
    if arguments.human is not None:
        arguments.human_level = "system"
        human, files = open_human(arguments, list(files))
        said = {one.system: one.score for one in human.entries if one.system in files}
    systems, _ = read_systems(arguments, metrics, [*files.values()], keep=False)
    names = dict(zip(files, short_names([system.name for system in systems]), strict=True))
    totals = {names[name]: system.totals() for name, system in zip(files, systems, strict=True)}
    judged = None if said is None else {names[name]: score for name, score in said.items()}
    found = rank_systems(metrics, totals, judged)
    return ranks_report(found, metrics), [ranks_panel(found, metrics)]


def _run_disagreements(arguments: argparse.Namespace) -> tuple[Report, Sequence[Panel]]:
    from decoding.cli.output.study import disagreements_report
    from fstmetrics.statistics.studies.disagreements import disagreements
    from lattices.errors import FormatError

    metrics = parse_metric_options(arguments)
    if len(metrics) != 2:
        arguments.parser.error(f"--metric: expected two different metrics, not {len(metrics)}")
    said: dict[tuple[str, str], float] = {}
    files = {path: path for path in dict.fromkeys(arguments.paths)}
    if arguments.human is not None:
        arguments.human_level = "segment"
        human, files = open_human(arguments, list(files))
        if human.preferences:
            raise FormatError("ranks of pairs, expected scores of segments", human.path)
        said = {(one.system, one.segment): one.score for one in human.entries}
    systems, _ = read_systems(arguments, metrics, [*files.values()], keep=False, sentences=True)
    points = [
        (system, id, said.get((name, id), float("nan")), [*scores])
        for name, system in zip(files, systems, strict=True)
        for id, scores in system.segment_scores()
    ]
    found = disagreements(
        *zip(*(scores for *_, scores in points), strict=True),
        human=[one[2] for one in points] if said else None,
        threshold=arguments.threshold,
        higher_is_better=(metrics[0].higher_is_better, metrics[1].higher_is_better),
    )
    places = [(system, id) for system, id, *_ in points]
    return disagreements_report(found, metrics, places, arguments.top), ()


STUDIES = {
    "sweep": Study(
        "systems under values of options", _SWEEP, _SYSTEMS + _SWEEP_OPTIONS, _run_sweep
    ),
    "char-bleu": Study(
        "BLEU in characters against BLEU in words",
        _CHAR_BLEU,
        _SYSTEMS + _CHAR_BLEU_OPTIONS,
        _run_char_bleu,
    ),
    "genres": Study(
        "better on each genre, worse on all", _GENRES, _SYSTEMS + _GENRES_OPTIONS, _run_genres
    ),
    "deletion": Study(
        "systems that say nothing for some segments",
        _DELETION,
        _SYSTEMS + _DELETION_OPTIONS,
        _run_deletion,
    ),
    "word-deletion": Study(
        "lattices in which words may be left out",
        _WORD_DELETION,
        _WORD_DELETION_OPTIONS,
        _run_word_deletion,
    ),
    "ranks": Study(
        "systems by metrics and by people", _RANKS, _SYSTEMS + _RANKS_OPTIONS, _run_ranks
    ),
    "disagreements": Study(
        "segments on which metrics disagree",
        _DISAGREEMENTS,
        _SYSTEMS + _DISAGREEMENTS_OPTIONS,
        _run_disagreements,
    ),
}
