"""``fstmetrics prune`` against marginals over all paths."""

from __future__ import annotations

from random import Random

from tests.decoding.random_commands.files import (
    read_jsonl,
)
from tests.decoding.random_commands.results import (
    same_paths,
)
from tests.decoding.random_commands.scores import (
    ROUNDING,
    close,
    posterior,
)
from tests.decoding.random_commands.spaces import (
    Path,
    Segment,
)
from tests.decoding.random_commands.trials import (
    Checks,
    Run,
    Trial,
    draw_inputs,
    draw_kinds,
    draw_segments,
)


def draw_prune(rng: Random) -> Trial:
    """Draw a beam, a posterior or a density."""
    kinds = draw_kinds(rng)
    format = draw_inputs(rng, kinds)
    kinds = tuple(kind for kind in kinds if kind in format.kinds) or format.kinds
    how = "beam" if "nbest" in kinds else rng.choice(("beam", "posterior", "density"))
    if how == "density" and format.name in ("htk", "plf"):
        # where ends of paths are arcs, which count
        how = "beam"
    segments, _ = draw_segments(rng, format, kinds)
    value = {
        "beam": rng.choice((0.0, 0.5, 1.0, 2.5, rng.uniform(0.0, 5.0))),
        "posterior": rng.uniform(0.0, 1.0),
        "density": rng.choice((0.5, 1.0, 1.5, 2.0, 3.0)),
    }[how]
    if format.name == "srilm-nbest":
        # whose unit leaves nothing exact: nothing may lie on the edge of the beam
        value = rng.uniform(0.0, 5.0)
    known = {"how": how, "value": value, "scale": rng.choice((1.0, 0.5, 2.0))}
    options = [f"--{how}", repr(value), "--to", "jsonl"]
    options += ["--scale", str(known["scale"])] if how == "posterior" else []
    return Trial("prune", rng.getrandbits(32), format, segments, tuple(options), (), "", known)


def judge_prune(trial: Trial, run: Run, checks: Checks) -> None:
    """Compare with the paths that have only parts to keep, by marginals over all paths."""
    known = trial.known
    usable = trial.usable()
    checks.equal("exit code", run.code, trial.exit_code(), run.said)
    found = read_jsonl(run.output)
    ids = [segment.id for segment in found]
    checks.equal("segments in order", ids, [segment.id for _, segment in usable])
    for (place, segment), space in zip(usable, found, strict=True):
        checks.place = place
        answers = pruned(segment, known["how"], known["value"], known["scale"])
        if answers is None:
            checks.counts["prune: left open by rounding"] += 1
            continue
        paths = space.paths()
        holds = any(same_paths(paths, right, ROUNDING, False) for right in answers)
        checks.that(f"paths within the {known['how']}", holds, paths, answers)
    checks.place = None


def pruned(segment: Segment, how: str, value: float, scale: float) -> list[list[Path]] | None:
    """Return the paths that are left; several answers where the best path is open.

    None if rounding decides whether a part is kept. A part is an arc or an edge; ends of lattices
    are kept and dropped like arcs, but do not count for the density.
    """
    paths = segment.paths()
    top = max(path.score for path in paths)
    ends = segment.kind == "lattice"
    keys = [{*path.parts, *([("end", path.end)] if ends else [])} for path in paths]
    best = [place for place, path in enumerate(paths) if close(path.score, top)]
    loss = {
        key: top - max(path.score for path, own in zip(paths, keys, strict=True) if key in own)
        for key in set().union(*keys)
    }
    if how == "posterior":
        share = posterior(paths, scale)
        if segment.kind == "forest":
            # an edge that a derivation uses twice counts twice
            mass = {
                key: sum(
                    weight * path.parts.count(key)
                    for weight, path in zip(share, paths, strict=True)
                )
                for key in loss
            }
        else:
            mass = {
                key: sum(weight for weight, own in zip(share, keys, strict=True) if key in own)
                for key in loss
            }
        if any(close(each, value) for each in mass.values()):
            return None
        kept = [{key for key, each in mass.items() if each >= value} | keys[one] for one in best]
    elif how == "beam":
        if any(loss_near(each, value) for each in loss.values()):
            return None
        kept = [{key for key, each in loss.items() if each <= value}]
    else:
        kept = []
        parts = len(segment.parts)
        for one in best:
            budget = int(value * max(1, len(paths[one].words)))
            # parts on no path lose everything
            losses = sorted(each for key, each in loss.items() if not isinstance(key, tuple))
            losses += [float("inf")] * (parts - len(losses))
            dropped = losses[budget] if budget < parts else float("inf")
            some = {key for key, each in loss.items() if each < dropped - ROUNDING}
            if any(0 < abs(each - dropped) < ROUNDING for each in loss.values()):
                return None
            kept.append(some | keys[one] if dropped <= ROUNDING else some)
            if dropped <= ROUNDING:
                kept += [some | keys[other] for other in best]
    return [[path for path, own in zip(paths, keys, strict=True) if own <= some] for some in kept]


def loss_near(loss: float, beam: float) -> bool:
    """Tell whether rounding decides; sums of quarters have none."""
    return loss != beam and abs(loss - beam) < ROUNDING * max(1.0, beam)


#: formats to convert to, by the kinds they hold; those in single precision
