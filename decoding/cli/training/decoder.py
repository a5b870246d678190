"""Decoder command of ``fstmetrics train --decoder``, run in the training loop."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lattices
from decoding.cli.terminal import note
from decoding.plain_json import check_seal, read_json, seal_json
from decoding.training.learner import HeldOut, Learner
from decoding.training.loop import DecoderLoop
from fstmetrics import Metric
from lattices.errors import EngineError, FormatError, OptionError
from lattices.formats.references import References
from lattices.spaces import Space

WEIGHTS, OUTPUT = "{weights}", "{output}"
#: lines of standard error that are shown of a command that failed
_LAST_LINES = 5
#: beside the files of the loop: the order of segments
_SEGMENTS = "segments.json"


@dataclass(frozen=True)
class CommandDecoder:
    r"""A decoder that is a command of the shell.

    Examples
    --------
    >>> from lattices.formats.weights import write_weights
    >>> command = r"sed 's/\(.*\) \(.*\)/0 ||| \1 ||| \1= 1 ||| \2/' {weights}"
    >>> nbest, = CommandDecoder(command, write_weights)({"lm": 2.0})
    >>> nbest[0].text, nbest[0].features, nbest[0].score
    ('lm', {'lm': 1.0}, 2.0)
    """

    command: str
    write_weights: Callable[[Mapping[str, float], str], None]
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a command that weights would not change."""
        if WEIGHTS not in self.command:
            raise OptionError(f"the decoder's command has no place for {WEIGHTS}")

    def __call__(self, weights: Mapping[str, float]) -> list[Space]:
        """Return what the decoder says under the weights."""
        with tempfile.TemporaryDirectory(prefix="fstmetrics-") as folder:
            named, output = os.path.join(folder, "weights"), os.path.join(folder, "output")
            self.write_weights(weights, named)
            # not by str.format: other braces are the shell's
            command = self.command.replace(WEIGHTS, shlex.quote(named))
            command = command.replace(OUTPUT, shlex.quote(output))
            self._run(command, folder, output)
            written = sorted(str(each) for each in Path(folder).glob("output*"))
            if len(written) != 1:
                what = f"{len(written)} files" if written else "nothing"
                raise EngineError(f"the decoder wrote {what} where {OUTPUT} is: {self.command}")
            try:
                return list(lattices.read(written[0], self.format, **self.options))
            except FormatError as problem:
                place = f", line {problem.line}" if problem.line else ""
                raise EngineError(
                    f"the output of the decoder cannot be read{place}: {problem.problem}"
                ) from problem

    def _run(self, command: str, folder: str, output: str) -> None:
        errors = os.path.join(folder, "errors")
        said = os.path.join(folder, "said") if OUTPUT in self.command else output
        with open(said, "wb") as out, open(errors, "wb") as error:
            done = subprocess.run(
                command, shell=True, stdin=subprocess.DEVNULL, stdout=out, stderr=error
            )
        if done.returncode:
            with open(errors, encoding="utf-8", errors="replace") as stream:
                last = deque((line.strip() for line in stream if line.strip()), _LAST_LINES)
            code = done.returncode
            how = f"exit code {code}" if code > 0 else f"signal {-code}"
            told = f": {' / '.join(last)}" if last else " and no word on standard error"
            raise EngineError(f"the decoder ended with {how}{told}")


@dataclass
class OrderedDecoder:
    """A decoder whose segments always come in the order of the first time."""

    #: returns the segments in any order
    decode: Callable[[Mapping[str, float]], Sequence[Space]]
    #: the segments; those of the first time if there are none yet
    ids: list[str] = field(default_factory=list)
    _kept: tuple[Mapping[str, float], Sequence[Space]] | None = None

    def settle(self, weights: Mapping[str, float]) -> list[str]:
        """Return the ids of all segments; decode if they are not known, and keep the answer."""
        if not self.ids:
            said = self.decode(weights)
            self.ids = [space.id for space in said]
            self._kept = dict(weights), said
        return self.ids

    def __call__(self, weights: Mapping[str, float]) -> list[Space]:
        """Return what the decoder says, in order."""
        if self._kept is not None and self._kept[0] == weights:
            said = self._kept[1]
        else:
            said = self.decode(weights)
        self._kept = None
        found = {space.id: space for space in said}
        missing = [name for name in self.ids if name not in found]
        if missing or len(said) != len(self.ids):
            what = f"nothing about {missing[0]!r}" if missing else "others as well"
            raise EngineError(
                f"the decoder decoded {len(self.ids)} segments at first, and now says {what}"
            )
        return [found[name] for name in self.ids]


def run_loop(
    decoder: CommandDecoder,
    learner: Learner,
    references: References,
    metric: Metric,
    *,
    dev: HeldOut | None,
    iterations: int,
    checkpoint: str | None,
    quiet: bool,
) -> DecoderLoop[Learner]:
    """Train with the decoder in the loop, and return the loop when it has ended."""
    ordered = OrderedDecoder(decoder, _read_known_segments(checkpoint))
    if ordered.ids:
        note(f"going on with the run in {checkpoint}")

    def decode(weights: Mapping[str, float]) -> list[Space]:
        if loop.decodings:
            _tell(loop, metric)
        return ordered(weights)

    loop = DecoderLoop(decode=decode, learner=learner, most_decodes=iterations)
    ids = ordered.settle(learner.weights)
    references.decide(ids)
    if checkpoint is not None:
        _keep_segments(checkpoint, ids)
    listed = [references.get(name, place) for place, name in enumerate(ids)]
    loop.run(listed, metric, dev=dev, checkpoint=checkpoint, progress=not quiet)
    _tell(loop, metric)
    return loop


def _tell(loop: DecoderLoop[Learner], metric: Metric) -> None:
    last = loop.decodings[-1]
    held_out = "" if last.held_out is None else f"held out {last.held_out:.4f}, "
    note(
        f"decoding {last.number}: {metric} {last.score:.4f}, {held_out}"
        f"{last.hypotheses:,} hypotheses, {last.fresh:,} new"
    )


def _read_known_segments(folder: str | None) -> list[str]:
    """Return the order of segments that an earlier run has kept."""
    if folder is None:
        return []
    path = os.path.join(folder, _SEGMENTS)
    try:
        with open(path, "rb") as stream:
            content = read_json(stream.read(), "list of segments", path)
    except FileNotFoundError:
        return []
    check_seal(content, "list of segments", path)
    ids: list[str] = content["segments"]
    return ids


def _keep_segments(folder: str, ids: list[str]) -> None:
    from lattices.formats.streams import open_output

    os.makedirs(folder, exist_ok=True)
    with open_output(os.path.join(folder, _SEGMENTS)) as stream:
        stream.write(seal_json({"segments": ids}))
