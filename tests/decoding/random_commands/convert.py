"""``fstmetrics convert`` there and back: the same weighted sentences."""

from __future__ import annotations

from random import Random

from tests.decoding.random_commands.files import (
    SYMBOLS,
    read_jsonl,
)
from tests.decoding.random_commands.results import (
    SINGLE,
    judge_spaces,
)
from tests.decoding.random_commands.scores import (
    ROUNDING,
)
from tests.decoding.random_commands.trials import (
    Checks,
    Run,
    Trial,
    draw_inputs,
    draw_segments,
    run,
)

#: formats to convert to, by the kinds they hold; those in single precision
TARGETS = {
    "lattice": (
        "jsonl", "arrow", "parquet", "kaldi", "kaldi-binary", "openfst-text", "openfst", "htk",
        "k2", "plf",
    ),
    "nbest": ("jsonl", "arrow", "parquet", "moses-nbest", "nbest-tsv", "csv"),
    "forest": ("jsonl", "arrow", "parquet", "hypergraph", "cdec-forest", "travatar"),
}  # fmt: skip
SINGLE_PRECISION = ("kaldi-binary", "openfst")
COMPLETE = ("jsonl", "arrow", "parquet")


def draw_convert(rng: Random) -> Trial:
    """Draw a format to convert to, and back from."""
    kind = rng.choice(("lattice", "lattice", "nbest", "forest"))
    format = draw_inputs(rng, (kind,))
    kind = kind if kind in format.kinds else format.kinds[0]
    target = rng.choice(TARGETS[kind])
    features = target in COMPLETE and format.features
    with_references = target in COMPLETE and format.references
    segments, _ = draw_segments(
        rng, format, (kind,), features=features, references="yes" if with_references else "no",
        damage=(),
    )  # fmt: skip
    known = {"target": target, "references": with_references}
    return Trial(
        "convert", rng.getrandbits(32), format, segments, ("--to", target, "--lossy"), (), "", known
    )


def judge_convert(trial: Trial, run_: Run, checks: Checks) -> None:
    """Convert back to JSON lines, and compare."""
    target = trial.known["target"]
    checks.equal("exit code", run_.code, 0, run_.said)
    if target == "jsonl":
        back = run_.output
    else:
        back = run_.folder / "back"
        options = ["--option", f"symbols={run_.folder / 'table'}"] if target in SYMBOLS else []
        argv = ["convert", str(run_.output), *options, "--to", "jsonl", "-o", str(back), "-q"]
        if target in ("k2", "kaldi-binary"):
            argv += ["--input-format", target]
        code, said = run(argv)
        checks.equal("exit code of converting back", code, 0, said)
    tolerance = SINGLE if target in SINGLE_PRECISION else ROUNDING
    features = target in COMPLETE
    judge_spaces(trial, run_, checks, lambda same: same, read_jsonl(back), tolerance, features)
