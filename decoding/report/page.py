"""The page itself: one HTML file that needs neither a network nor a server.

Everything that comes from files is data: compressed in letters of base64, or JSON without a ``<``.
The page's own policy allows its one script and its one style by their hashes, and nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import decoding
from decoding.plain_json import json_text
from decoding.report.audio import Audio
from decoding.report.segments import KINDS, oracle_label, word_aligner
from decoding.report.systems import SystemReport, comparisons, pack
from fstmetrics import Metric
from fstmetrics.alignment.rates import counts_errors
from lattices.errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from fstmetrics.statistics.resampling import ResamplingOptions

#: in the order in which they are joined
SCRIPTS = ("elements", "data", "charts", "summary", "errors", "quantities", "list", "alignment",
           "lattice", "audio", "export", "segment", "main")  # fmt: skip
TOP = 20


def write_page(
    systems: Sequence[SystemReport],
    *,
    title: str = "",
    labels: Sequence[str] = (),
    choices: Mapping[str, Any] | None = None,
    audio: Audio | None = None,
    settings: Mapping[str, Any] | None = None,
    top: int = TOP,
    **resampling: Unpack[ResamplingOptions],
) -> Iterator[bytes]:
    """Iterate over the parts of a page about one system, or about several side by side.

    ``choices`` is a comparison, as :func:`decoding.report.saved_choices.read_choices` returns it;
    ``audio`` says where recordings are (:func:`decoding.report.audio.find_audio`).
    The same systems and options always give the same bytes.
    """
    if not systems:
        raise OptionError("no systems, expected one or more")
    for system in systems:
        if not system.segments:
            raise OptionError(f"{system.name} has no segments")
        if not system.kinds:
            raise OptionError(f"{system.name} has no kind of result that all its segments have")
    given: dict[str, Any] = {"samples": 1000, "level": 0.95, "seed": 0, **resampling}
    metrics = systems[0].metrics
    contents = [system.content(**given, top=top) for system in systems]
    names = _metrics(metrics, labels)
    own = {each["signature"]: each["label"] for each in names}
    content = {
        "title": title or _name_all([system.name for system in systems]),
        "version": decoding.__version__,
        "metrics": names,
        "aligner": str(word_aligner(metrics)),
        "kinds": {**KINDS, "oracle": oracle_label(own, *(each.oracles_of for each in systems))},
        "resampling": given,
        "choices": choices,
        "audio": audio and {"template": audio.template, "names": audio.names},
        "settings": dict(settings or {}),
        "systems": contents,
        "comparison": comparisons(systems, **given),
    }
    style, script = _asset("page.css"), _script()
    head, rest = _asset("page.html").split("<!--data-->")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; "
        f"style-src 'sha256-{_hash(style)}'; img-src data:; "
        f"{f'media-src {audio.sources}; ' if audio else ''}base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    yield head.replace("{policy}", policy).replace("{style}", style).encode()
    yield _data("report", pack(json_text(content)))
    told: set[str] = set()
    for number, system in enumerate(systems):
        yield _data(f"index-{number}", pack(json_text(system.index(told))))
        told.update(system.ids)
        for place, block in enumerate(system.blocks):
            yield _data(f"block-{number}-{place}", block)
    yield rest.replace("{script}", script).encode()


def _metrics(metrics: Sequence[Metric], labels: Sequence[str]) -> list[dict[str, Any]]:
    names = labels or [getattr(each, "label", str(each).partition(":")[0]) for each in metrics]
    return [
        {
            "label": name,
            "signature": str(metric),
            "higher": metric.higher_is_better,
            "percent": counts_errors(metric),
        }
        for name, metric in zip(names, metrics, strict=True)
    ]


def _name_all(names: Sequence[str]) -> str:
    """Return what a page about these systems is called."""
    shown = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _data(id: str, letters: str) -> bytes:
    return f'<script type="text/plain" id="{id}">{letters}</script>\n'.encode("ascii")


def _asset(name: str) -> str:
    return (files("decoding.report") / "assets" / name).read_text(encoding="utf-8")


def _script() -> str:
    """Return all scripts as one, which keeps its names to itself."""
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n{{\n{parts}\n}}\n'


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode("ascii")
