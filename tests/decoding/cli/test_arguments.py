"""What the shell and Python share: an option of a command means what the argument does.

The laws go through the parser's own options. One that is new has to be given values here, with
which both are tried, or a reason why Python has no such argument.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import decoding
import lattices
from decoding.cli.main import build_parser, main
from decoding.minimum_risk.decisions import method_with
from decoding.minimum_risk.tuning import LinearGrid, tune_linear
from decoding.reranking import draw
from decoding.training.learners import LEARNERS
from fstmetrics import Normalised, parse_metric
from lattices import Forest, Hypothesis, Lattice, NBest
from lattices.errors import Error, OptionError
from lattices.formats.weights import read_weights

#: what happened where there is no answer
REFUSED = "refused"

FILES = "files and their formats: Python has functions to read and to write"
RUNNING = "how a corpus is run, not what is found"
SHOWN = "what is shown, not what is found"
#: options of all commands that Python does not share, and why
SHELL_ONLY = {
    "join": "lattices.concatenate",
    "help": SHOWN,
    "quiet": SHOWN,
    "verbose": SHOWN,
    "format": SHOWN,
    "decimals": SHOWN,
    "fractions": SHOWN,
    "sort": SHOWN,
    "plot": SHOWN,
    "summary": SHOWN,
    "history": SHOWN,
    "paths": FILES,
    "input_format": FILES,
    "option": FILES,
    "output": FILES,
    "to": FILES,
    "write_option": FILES,
    "lossy": FILES,
    "refs": FILES,
    "refs_format": FILES,
    "refs_id": FILES,
    "partial_refs": FILES,
    "refs_variants": FILES,
    "weights_format": FILES,
    "template": FILES,
    "workers": RUNNING,
    "dask": RUNNING,
    "resume": RUNNING,
    "checkpoint": RUNNING,
    "executor": RUNNING,
    "ids": RUNNING,
    "partitioned": RUNNING,
    "shards": RUNNING,
    "acoustic_scale": FILES,
    "lm_scale": FILES,
    "word_ins_penalty": FILES,
}


@dataclass(frozen=True)
class Command:
    """A command beside Python.

    Attributes
    ----------
    shared : mapping
        Values to try of each option that Python has, too.
    shell_only : mapping
        The other options of this command alone, and why Python has no such argument.
    always : mapping
        What the command is always given.
    output : sequence of str
        Options that make the answer readable.
    read : callable
        The answer in a file that the command has written.
    answer : callable
        Python's, from spaces and options.
    kinds : sequence of str
        Of spaces.
    """

    shared: Mapping[str, list[Any]]
    shell_only: Mapping[str, str]
    output: tuple[str, ...]
    read: Callable[[Path], Any]
    answer: Callable[..., Any]
    always: Mapping[str, Any]
    kinds: tuple[str, ...] = ("lattice", "forest", "nbest")


ARCS = [
    (0, 1, "a", -0.1, {"lm": -1.0, "tm": 0.5}), (0, 1, "The", -0.9, {"lm": -2.0, "tm": 0.1}),
    (1, 2, "hat", -0.2, {"lm": -0.5, "tm": 0.7}), (1, 2, "cat", -0.7, {"lm": -0.4, "tm": 0.2}),
    (2, 3, "sat", -0.3, {"lm": -0.3, "tm": 0.2}), (2, 3, "sits", -0.5, {"lm": -0.2, "tm": 0.1}),
    (1, 3, "cat", -1.5, {"lm": -1.4, "tm": 0.4}),
]  # fmt: skip
#: two lengths, so that a corpus oracle is no matter of sentences alone
REFERENCES = ["the cat sat", "a cat"]


def space_of(kind: str) -> Lattice | Forest | NBest:
    """Return one segment of a kind."""
    lattice = Lattice.from_arcs(ARCS, finals=[3], references=REFERENCES, id="s1")
    if kind == "lattice":
        return lattice
    if kind == "forest":
        return Forest.from_lattice(lattice)
    return NBest.from_hypotheses(
        [
            Hypothesis(each.tokens, each.score, each.features)
            for each in lattices.k_best(lattice, 6)
        ],
        references=REFERENCES,
        id="s1",
    )


def metric_of(options: dict[str, Any]) -> Any:
    """Take the metric out of options."""
    metric = parse_metric(options.pop("metric", ["wer"])[0])
    normalise = options.pop("normalise", None)
    return metric if normalise is None else Normalised(metric, normalise)


def found_oracles(space: Any, options: dict[str, Any]) -> Any:
    """Return what Python's functions find."""
    metric = metric_of(options)
    evaluator = metric.against(REFERENCES)
    if options.pop("corpus", False):
        found = decoding.corpus_oracle([space], [REFERENCES], metric, **options)
        return [(each.text, each.score) for each in found.hypotheses]
    if at := options.pop("at", None):
        return [each.oracle.score for each in decoding.oracle_at(space, evaluator, at, **options)]
    if densities := options.pop("densities", None):
        curve = decoding.density_curve(space, evaluator, densities, **options)
        return [each.oracle.score for each in curve]
    if options.pop("worst", False):
        oracles = decoding.worst(space, evaluator, **options)
    elif "k" in options:
        oracles = decoding.oracle_kbest(space, evaluator, **options)
    else:
        oracles = [decoding.oracle(space, evaluator, **options)]
    return [(each.text, each.hypothesis.score, each.score, each.exact) for each in oracles]


def written_oracles(path: Path) -> Any:
    """Return what the command has written."""
    text = path.read_text()
    if '"points"' in text:
        return [score for each in json.loads(text)["points"] for score in each["scores"].values()]
    lines = [json.loads(line) for line in text.splitlines()]
    if all("exact" not in each for each in lines):
        return [(each["text"], each["model_score"]) for each in lines]
    return [(each["text"], each["model_score"], each["score"], each["exact"]) for each in lines]


def chosen_by_risk(space: Any, options: dict[str, Any]) -> Any:
    """Return what Python's functions choose."""
    metric: Any = metric_of(options)
    own = {name: options.pop(name) for name in ("candidates", "samples") if name in options}
    for name, value in options.pop("set", []):
        own[name] = int(value)
    method: Any = options.pop("method", "auto")
    if own or method != "auto":
        method = method_with("pairwise" if method == "auto" else method, own)
        if method.own_objective and not isinstance(metric, Normalised):
            metric = None  # which scores in the shell, and decides nothing
    spaces = [space, *(each for path in options.pop("systems", []) for each in lattices.read(path))]
    if "evidence" in options:
        (options["evidence"],) = lattices.read(options["evidence"])
    decide = decoding.mbr_kbest if options.get("k", 1) > 1 else decoding.mbr
    found = decide(spaces if len(spaces) > 1 else space, metric, method=method, **options)
    chosen = found if isinstance(found, list) else [found]
    return [(each.text, each.expected, each.method, each.exact) for each in chosen]


def written_by_risk(path: Path) -> Any:
    """Return what the command has written."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(each["text"], each["expected"], each["method"], each["exact"]) for each in lines]


def entries(space: Any) -> Any:
    """Return the sentences of a space and their scores."""
    if isinstance(space, NBest):
        return [(each.text, each.score) for each in space]
    return sorted((each.text, each.score) for each in lattices.k_best(space, 1000))


def read_entries(path: Path) -> Any:
    """Return the sentences of the one space in a file."""
    (space,) = lattices.read(path)
    return entries(space)


def drawn(space: Any, n: int, seed: int = 0, scale: float = 1.0) -> Any:
    """Return what is drawn at random."""
    return entries(draw(space, n, seed, scale))


def listed(space: Any, options: dict[str, Any]) -> Any:
    """Return the k best sentences."""
    k, unique = options.get("k", 100), options.get("unique", False)
    if isinstance(space, NBest):
        found = sorted(space, key=lambda each: -each.score)
        first = {
            (each.tokens if unique else place): each
            for place, each in reversed([*enumerate(found)])
        }
        found = [each for each in found if any(each is one for one in first.values())][:k]
    else:
        found = lattices.k_best(space, k, distinct=unique)
    return [(each.text, each.score) for each in found]


def rescored(space: Any, options: dict[str, Any]) -> Any:
    """Return what is best under weights."""
    scored = [options.pop(name, None) for name in ("metric", "normalise")]
    if any(scored) and {"k", "spaces"} & set(options):
        raise OptionError("only sentences are scored")
    if "spaces" in options and {"k", "unique"} & set(options):
        raise OptionError("spaces are not lists of the best")
    weights = dict(read_weights(options.pop("weights")))
    space = space.reweighted(weights, missing=options.pop("missing", "warn"))
    if options.pop("spaces", False):
        return entries(space)
    if "k" in options:
        return listed(space, options)
    return [(best.text, best.score) for best in [lattices.best(space, **options)]]


def read_rescored(path: Path) -> Any:
    """Return lines, or the sentences of a space."""
    lines = path.read_text().splitlines()
    fields = json.loads(lines[0])
    if "text" in fields:
        return [(fields["text"], fields["score"])]
    return read_entries(path)


def trained(space: Any, options: dict[str, Any]) -> Any:
    """Return the weights that a learner finds."""
    metric = metric_of(options)
    own = {name: int(value) for name, value in options.pop("set", [])}
    start = options.pop("start", None)
    average = options.pop("average", False)
    held_out = [space for path in options.pop("dev", []) for space in lattices.read(path)]
    dev = (held_out, [each.references for each in held_out]) if held_out else None
    learner = LEARNERS.get(options.pop("learner", "mert"))(
        start=None if start is None else dict(read_weights(start)),
        seed=options.pop("seed", 0), **own,
    )  # fmt: skip
    learner.fit([space], [REFERENCES], metric, dev=dev, **options)
    found = learner.average() if average else learner.weights
    return sorted((name, value) for name, value in found.items())


def read_trained(path: Path) -> Any:
    """Return the weights in a file."""
    return sorted(read_weights(path).items())


def tuned(space: Any, options: dict[str, Any]) -> Any:
    """Return the points of a grid."""
    metric = parse_metric(options.pop("metric", "bleu"))
    table = tune_linear([space], [REFERENCES], metric, LinearGrid(**options))
    return [[each.scale, each.p, each.r, each.T, each.score] for each in table.points]


def read_tuned(path: Path) -> Any:
    """Return the points of a table."""
    return [list(map(float, line.split("\t"))) for line in path.read_text().splitlines()[1:]]


METRICS = {"metric": [["grr"], ["bleu:smooth=add-k"], ["chrf"]], "normalise": ["lower"]}
COMMANDS = {
    "oracle": Command(
        shared={
            **METRICS,
            "engine": ["kernel", "openfst", "nobodys"],
            "k": [2],
            "worst": [True],
            "corpus": [True],
            "at": [[1, 2]],
            "densities": [[1.0, 2.0]],
            "model_weight": [0.5],
            "budget": [1, 10**6],
            "memory": [1, 10**6],
        },
        shell_only={
            **dict.fromkeys(("by", "top", "show", "pra"), SHOWN),
            "wildcard": "metrics have a similarity for it",
            "random": "a function of its own, decoding.extraction.best_of",
            "compose": "decoding.extraction.composition.compose_list, and the oracle of that",
            "write_spaces": "a function of its own, decoding.best_paths",
        },
        output=("--format", "jsonl"),
        read=written_oracles,
        answer=found_oracles,
        always={"metric": ["wer"]},
    ),
    "mbr": Command(
        shared={
            **METRICS,
            "method": ["pairwise", "linear", "consensus", "edit", "exact", "search", "nobodys"],
            "scale": [2.0],
            "candidates": [2],
            "samples": [5],
            "evidence": ["OTHER"],
            "systems": [["OTHER"]],
            "system_weights": [[0.25, 0.75]],
            "set": [[("budget", "1")], [("memory", "1")], [("iterations", "1")]],
            "k": [2],
        },
        shell_only={
            "calibration": "a calibration is applied to confidences, after the decision",
            "channel": SHOWN,
            "confidences": SHOWN,
            "matrix": SHOWN,
            "no_oracle": SHOWN,
            "cache": RUNNING,
            "systems_format": FILES,
            "sources": FILES,
            "sources_format": FILES,
        },
        output=("--format", "jsonl"),
        read=written_by_risk,
        answer=chosen_by_risk,
        always={"metric": ["wer"]},
    ),
    "rescore": Command(
        shared={
            **METRICS,
            "missing": ["zero", "error"],
            "k": [2],
            "unique": [True],
            "spaces": [True],
        },
        shell_only={},
        output=(),
        read=read_rescored,
        answer=rescored,
        always={"weights": "WEIGHTS"},
    ),
    "nbest": Command(
        shared={"k": [2, 3], "unique": [True]},
        shell_only={},
        output=(),
        read=read_entries,
        answer=listed,
        always={},
    ),
    "prune": Command(
        shared={
            "beam": [0.5, -1.0],
            "density": [1.5, 0.0],
            "posterior": [0.3, 2.0],
            "scale": [2.0],
        },
        shell_only={},
        output=(),
        read=read_entries,
        always={},
        answer=lambda space, options: entries(lattices.prune(space, **options)),
        kinds=("lattice", "forest"),
    ),
    "sample": Command(
        shared={"n": [3], "seed": [7], "scale": [3.0, -1.0]},
        shell_only={},
        output=(),
        read=read_entries,
        always={"n": 5},
        answer=lambda space, options: drawn(space, **options),
    ),
    "train": Command(
        shared={
            **METRICS,
            "learner": ["mira", "pro", "perceptron", "softmax-margin", "risk", "nobodys"],
            "set": [[("epochs", "2")], [("restarts", "1")]],
            "start": ["WEIGHTS"],
            "seed": [3],
            "average": [True],
            "dev": [["OTHER"], ["LATTICE"]],
        },
        shell_only={
            "dev_refs": FILES,
            "decoder": "a decoder is called by decoding.train_decoder",
            "iterations": "as --decoder",
        },
        output=(),
        read=read_trained,
        answer=trained,
        always={"metric": ["wer"]},
    ),
    "tune-mbr": Command(
        shared={
            "metric": ["wer"],
            "scales": [[1.0, 5.0]],
            "ps": [[0.7]],
            "rs": [[0.8]],
            "Ts": [[5.0]],
            "order": [2],
            "word_penalty": [0.1],
            "merge": ["max"],
        },
        shell_only={},
        output=(),
        read=read_tuned,
        answer=tuned,
        always={"scales": [1.0], "ps": [0.7], "rs": [0.8], "Ts": [10.0]},
    ),
}


def actions_of(command: str) -> dict[str, argparse.Action]:
    """Return the options of a command by their destinations."""
    parser = build_parser([command])
    (commands,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    return {action.dest: action for action in commands.choices[command]._actions}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_shared_or_has_a_reason_not_to_be(name: str) -> None:
    command = COMMANDS[name]
    known = {*command.shared, *command.shell_only, *command.always}
    actions = actions_of(name)
    assert set(actions) <= known | set(SHELL_ONLY), "give it values here, or a reason"
    assert known <= set(actions)
    assert all([*command.shell_only.values(), *SHELL_ONLY.values()])
    assert not set(command.shared) & {*command.shell_only, *SHELL_ONLY}


def cases() -> Iterator[Any]:
    """Iterate over commands and options: each value alone, and with each of the other options."""
    for name, command in COMMANDS.items():
        values = [(option, value) for option, some in command.shared.items() for value in some]
        pairs = [(one, two) for one, two in itertools.combinations(values, 2) if one[0] != two[0]]
        for given in [(), *((value,) for value in values), *pairs]:
            options = dict(given)
            yield pytest.param(name, options, id=f"{name} {options}")


def argv_of(action: argparse.Action, value: Any) -> list[str]:
    """Return how an option is given in the shell."""
    option = action.option_strings[-1]
    if action.nargs == 0:
        return [option]
    if isinstance(action, argparse._AppendAction) and action.dest == "set":
        return [text for key, one in value for text in (option, f"{key}={one}")]
    if isinstance(value, list) and action.nargs is None:
        return [option, ",".join(map(str, value))]
    return [option, *map(str, value if isinstance(value, list) else [value])]


def in_shell(name: str, options: Mapping[str, Any], path: Path, output: Path) -> Any:
    """Return what the command writes."""
    command, actions = COMMANDS[name], actions_of(name)
    argv = [name, str(path), "-q", "-o", str(output)]
    curve = name == "oracle" and ("at" in options or "densities" in options)
    lines = name == "rescore" and not {"k", "spaces"} & set(options)
    argv += ["--format", "json"] if curve else ["--format", "jsonl"] if lines else command.output
    for option, value in {**command.always, **options}.items():
        argv += argv_of(actions[option], value)
    try:
        code = main(argv)
    except SystemExit as stopped:
        code = int(str(stopped.code))
    return command.read(output) if code == 0 else REFUSED


def in_python(name: str, options: Mapping[str, Any], space: Any) -> Any:
    """Return what Python returns; an argument that a function does not have is refused, too."""
    command = COMMANDS[name]
    try:
        return command.answer(space, {**command.always, **options})
    except (Error, TypeError):
        return REFUSED


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shared")
    for command in COMMANDS.values():
        for kind in command.kinds:
            lattices.write(made / f"{kind}.jsonl", [space_of(kind)])
    other = Lattice.from_arcs([(0, 1, "the"), (1, 2, "cat", -0.5), (1, 2, "hat")], [2], id="s1")
    lattices.write(made / "other.jsonl", [other])
    (made / "weights.txt").write_text("lm 0.5\n")
    return made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "options"), list(cases()))
def test_the_shell_answers_as_python_does(
    name: str, options: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    names = {"OTHER": "other.jsonl", "LATTICE": "lattice.jsonl", "WEIGHTS": "weights.txt"}
    files = {name: str(folder / file) for name, file in names.items()}

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(each) for each in value]
        return files.get(value, value) if isinstance(value, str) else value

    for kind in COMMANDS[name].kinds:
        if "openfst" in options.values():
            pytest.importorskip("pynini")
        path = folder / f"{kind}.jsonl"
        (space,) = lattices.read(path)
        given = {option: named(value) for option, value in options.items()}
        whole = {option: named(value) for option, value in COMMANDS[name].always.items()}
        asked = {**whole, **given}
        found = in_shell(name, asked, path, tmp_path / f"{kind}.jsonl")
        assert found == in_python(name, asked, space), kind
