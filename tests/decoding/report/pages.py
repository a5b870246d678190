"""Pages, and what is in them, for their tests."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from decoding.corpus.outcomes import Done, Segment
from decoding.report.page import write_page
from decoding.report.segments import ReportTask
from decoding.report.systems import SystemReport
from fstmetrics import GRR, WER, Metric
from lattices.spaces import Space

METRICS: tuple[Metric, ...] = (WER(), GRR())
_DATA = re.compile(r'<script type="text/plain" id="([a-z0-9-]+)">([A-Za-z0-9+/=]*)</script>')


def unpacked(page: bytes) -> dict[str, Any]:
    """Return the data of a page, by the ids of the elements that hold them."""
    return {
        id: json.loads(gzip.decompress(b64decode(letters)))
        for id, letters in _DATA.findall(page.decode())
    }


def details(data: dict[str, Any], system: int = 0) -> list[dict[str, Any]]:
    """Return what is shown of each opened segment, in order."""
    count = len(data[f"index-{system}"]["blocks"])
    return [each for block in range(count) for each in data[f"block-{system}-{block}"]]


def collected(
    spaces: Sequence[Space],
    metrics: tuple[Metric, ...] = METRICS,
    name: str = "one",
    **options: Any,
) -> SystemReport:
    """Return what a page has of spaces that have references."""
    segments = [Segment(place, "file", place + 1, space) for place, space in enumerate(spaces)]
    system = SystemReport(name, metrics)
    for segment, found in zip(
        segments, ReportTask(metrics, **options).process(segments), strict=True
    ):
        system.add(Done(segment.position, segment.path, segment.line, segment.id, found))
    return system


def page_of(*systems: SystemReport, **options: Any) -> bytes:
    """Return the bytes of a page."""
    return b"".join(write_page(systems, **{"samples": 50, **options}))
