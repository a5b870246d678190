"""``fstmetrics train``: weights of features, trained for a metric."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from decoding.cli.arguments import (
    check_plot,
    open_references,
    parse_metric_options,
    report_failures,
    require_references,
)
from decoding.cli.option_table import STANDARD
from decoding.cli.terminal import note, print_summary, say

if TYPE_CHECKING:
    from decoding.cli.training.corpus import TrainingCorpus
    from decoding.corpus.actors import Actors
    from decoding.training.learner import Learner
    from fstmetrics import Metric
    from lattices.formats.references import References

SUMMARY = "weights of features, trained for a metric on lattices, forests or n-best lists"
DESCRIPTION = """\
Find weights of the features under which the model's best sentences are good by a metric. All
segments are kept in memory, or in that of --workers, which then do the work; the weights are the
same. A segment that cannot be read, or has no features or no references,
is reported and left out, and the exit code is 1.

learners: mert, mira, pro, perceptron, softmax-margin, risk, xbleu; --set gives any of their
options, and an option that there is not lists those that there are.

With --decoder there is no input but what a decoder writes. Its command is run by the shell
with {weights} replaced by the name of a file with weights, and {output} by the name of the file
it has to write, in any format of lattices, forests or n-best lists; without {output}, its
standard output is read. What it says is added to what it said before, the learner is fitted to
all of it, and so on until there is nothing new, or --iterations are done. The weights that are
written are those whose decoding was best.

The weights that are written are those of the best round by the first metric, on --dev if it is
given and else on SPACES, or those at the start if no round is better, which is said.
"""
EXAMPLES = """\
examples:
  fstmetrics train lattices.jsonl.gz --refs refs.en --metric bleu -o weights.txt
  fstmetrics train nbest.gz --learner mira --set epochs=20 --set C=0.05 --refs refs.en -o w.txt
  fstmetrics train lattices.jsonl.gz --metric grr wer --start weights.txt --dev dev.jsonl.gz
      --dev-refs dev.en --checkpoint run.json --history rounds.tsv --plot rounds.svg -o tuned.txt
  fstmetrics train --refs refs.en --metric bleu --start moses.ini -o tuned.ini
      --weights-format moses --template moses.ini
      --decoder 'moses -f {weights} -i in.de -n-best-list {output} 100 distinct > /dev/null'
"""
OPTIONS = """\
@input files SPACES
@references
@metrics = grr  ; the first one is trained for, the others are told
--learner NAME: name = mert  learner: mert, mira, pro, perceptron, softmax-margin, risk or xbleu,
    with options as in mira:C=0.01,epochs=20; one of a plug-in's, or python:MODULE:CLASS
--set KEY=VALUE: pair, repeated  option of the learner, such as restarts=10, fixed=lm,tm or
    'bounds={"lm": [0, null]}'; may be repeated
--start FILE  initial weights (default: equal weights)
--seed N: seed = 0  random seed
--average  write the learner's average of weights instead of the best round's
--dev FILE: several  held-out spaces, by which the best round is chosen (default: by the SPACES)
--dev-refs FILE: several  references of the held-out spaces
--decoder COMMAND  decoder command, with {weights} and {output}, run in every iteration
--iterations N: whole number = 10  maximum number of decodings
--checkpoint FILE  file to save the state in after every round; with --decoder, a folder
--resume  continue an interrupted run from its checkpoint; the result is the same
--history FILE  also write a table (tsv) of all rounds
@plot  draw objective and weights of all rounds
--weights-format plain|travatar|moses = plain  weights format: plain (name value), travatar
    (name=value) or moses (the section of a moses.ini)
--template FILE  moses.ini to copy, with its section of weights replaced
@running
@output
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    _check_usage(arguments)
    check_plot(arguments)
    from decoding.cli.training.corpus import open_actors, read_held_out
    from decoding.cli.training.options import learner_options
    from decoding.training.learners import LEARNERS
    from lattices.formats.weights import read_weights
    from lattices.options import split_named

    metrics = parse_metric_options(arguments)
    name, given = split_named(arguments.learner)
    kind = LEARNERS.get(name)
    start = None if arguments.start is None else dict(read_weights(arguments.start))
    options = learner_options(kind, [*given, *arguments.set])
    if (arguments.dask or arguments.workers > 1) and not kind.in_shards:
        arguments.parser.error(f"--learner {kind.name} trains in one process, without workers")
    learner = kind(start=start, seed=arguments.seed, **options)
    dev = None
    if arguments.dev:
        dev = read_held_out(arguments, arguments.dev, arguments.dev_refs)
    if arguments.decoder is not None:
        return _run_decoder(arguments, learner, metrics, require_references(arguments), dev)
    references = open_references(arguments)
    with open_actors(arguments) as actors:
        return _run_spaces(arguments, learner, metrics, references, dev, actors)


def _check_usage(arguments: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    error = arguments.parser.error
    if arguments.executor:
        error(
            "training keeps segments in workers, which --executor cannot; --dask and --workers can"
        )
    if arguments.decoder is not None:
        if arguments.paths:
            error("with --decoder there are no SPACES to read: the decoder writes them")
        if not (arguments.start and arguments.refs):
            error("--decoder needs --start and --refs")
        if arguments.average:
            error("--average cannot be used with --decoder")
        if arguments.dask or arguments.workers > 1:
            error("--workers and --dask cannot be used with --decoder")
        if arguments.plot and arguments.iterations < 2:
            error("--plot draws rounds of training, which --iterations 1 has none of")
    if STANDARD in (arguments.start, arguments.template, *(arguments.dev or [])):
        error("--start, --template and --dev are files, not standard input")
    if arguments.dev_refs and not arguments.dev:
        error("--dev-refs goes with --dev")
    if arguments.template and arguments.weights_format != "moses":
        error("--template goes with --weights-format moses")
    if arguments.checkpoint is None:
        if arguments.resume:
            error("--resume needs --checkpoint")
    elif arguments.resume and STANDARD in (*arguments.paths, *(arguments.refs or [])):
        error("--resume needs files: standard input cannot be read again")
    elif not arguments.resume and _is_there(arguments.checkpoint):
        error(f"there is a checkpoint {arguments.checkpoint}; --resume goes on with it")


def _is_there(checkpoint: str) -> bool:
    """Tell whether there is anything in a file or a folder."""
    if os.path.isdir(checkpoint):
        return bool(os.listdir(checkpoint))
    return os.path.exists(checkpoint)


def _run_spaces(
    arguments: argparse.Namespace,
    learner: Learner,
    metrics: tuple[Metric, ...],
    references: References | None,
    dev: TrainingCorpus | None,
    actors: Actors | None,
) -> int:
    from decoding.cli.training.corpus import read_corpus
    from decoding.cli.training.options import resume
    from decoding.cli.training.output import (
        print_rounds,
        print_scores,
        write_results,
        write_weights_to,
    )

    corpus = read_corpus(arguments, references, actors)
    begun = learner.initial_weights(corpus.feature_names)
    # what cannot be written is better said before training than after it
    write_weights_to(arguments, begun, os.devnull)
    task = corpus.task(metrics[0], None if dev is None else dev.pair)
    if arguments.resume:
        if os.path.exists(arguments.checkpoint):
            learner = resume(learner, arguments.checkpoint, task)
        done = len(learner.history)
        note(f"going on after {done} rounds" if done else "there is nothing to resume")
    if not (learner.history and learner.finished):
        with _explain(arguments):
            learner.fit_task(task, checkpoint=arguments.checkpoint, progress=not arguments.quiet)
    weights = learner.average() if arguments.average else learner.weights
    write_results(arguments, weights, learner)
    failed = _report_failures(corpus, dev)
    if not arguments.quiet:
        print_rounds(learner, metrics[0])
        columns = [("in the file", None), ("start", begun), ("trained", weights)]
        print_scores(metrics, corpus, "metric", columns)
        if dev is not None:
            print_scores(metrics, dev, "held out", columns)
        print_summary(
            f"{len(corpus.segments)} segments, {len(corpus.failures)} failed, "
            f"{len(weights)} weights, {len(learner.history)} rounds"
        )
        _tell_search(learner, metrics[0])
    return 1 if failed else 0


def _tell_search(learner: Learner, metric: Metric) -> None:
    """Say what single sentences were scored by, and how much of it was exact, if either is news."""
    details = learner.history[-1].details if learner.history else {}
    exact, judge = details.get("exact", 1.0), details.get("judge", str(metric))
    if judge != str(metric):
        say(f"single sentences are scored by {judge}")
    if exact < 1.0:
        say(f"exact for {exact:.1%} of the segments in the last round, approximate for the others")


def _run_decoder(
    arguments: argparse.Namespace,
    learner: Learner,
    metrics: tuple[Metric, ...],
    references: References,
    dev: TrainingCorpus | None,
) -> int:
    from decoding.cli.training.decoder import CommandDecoder, run_loop
    from decoding.cli.training.output import (
        print_scores,
        print_table,
        write_results,
        write_weights_to,
    )

    begun = dict(learner.weights)
    write_weights_to(arguments, begun, os.devnull)
    decoder = CommandDecoder(
        arguments.decoder,
        lambda weights, path: write_weights_to(arguments, weights, path),
        arguments.input_format,
        dict(arguments.option),
    )
    with _explain(arguments):
        loop = run_loop(
            decoder,
            learner,
            references,
            metrics[0],
            dev=None if dev is None else dev.pair,
            iterations=arguments.iterations,
            checkpoint=arguments.checkpoint,
            quiet=arguments.quiet,
        )
    write_results(arguments, loop.weights, loop.learner)
    failed = _report_failures(dev)
    if not arguments.quiet:
        first = loop.decodings[0]
        won = next(each for each in loop.decodings if each.weights == loop.weights)
        scores = [[first.score, won.score]]
        print_table(["metric", "start", "trained"], metrics[:1], scores)
        if dev is not None:
            print_scores(metrics, dev, "held out", [("start", begun), ("trained", loop.weights)])
        start = " (the start: the weights are as they were)" if won is first else ""
        print_summary(f"{len(loop.decodings)} decodings, the best was number {won.number}{start}")
    return 1 if failed else 0


def _report_failures(*corpora: TrainingCorpus | None) -> bool:
    """Say what could not be read; return whether there was anything."""
    told = [corpus.failures for corpus in corpora if corpus is not None and corpus.failures]
    for failures in told:
        report_failures(failures)
    return bool(told)


@contextmanager
def _explain(arguments: argparse.Namespace) -> Iterator[None]:
    """Tell the user how to go on after an interrupt, and what a metric that cannot search needs."""
    from lattices.errors import EngineError, OptionError

    try:
        yield
    except (KeyboardInterrupt, EngineError):
        if arguments.checkpoint is not None and _is_there(arguments.checkpoint):
            say("interrupted; the same command with --resume goes on from here")
        raise
    except OptionError as problem:
        if "(lattices.k_best)" not in str(problem):
            raise
        raise OptionError(
            f"{problem} (from the shell: train on the lists of fstmetrics nbest SPACES -k 100 "
            "--unique -o lists.jsonl.gz; or score single sentences by a metric that can "
            "search, --set judge=grr; or --learner mert, which needs none)"
        ) from problem
