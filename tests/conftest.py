"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# machines are slow or busy, which no deadline should count; at night laws get more examples, see
# `tests.strategies.examples` for those that say how many they need
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", settings.get_profile("default"), max_examples=500)
settings.load_profile(os.environ.get("FSTMETRICS_PROFILE", "default"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, or a skip where there is none."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("FSTMETRICS_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set FSTMETRICS_DATA)")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Let a skipped test fail where all that tests need is said to be there: ``make doors``."""
    report: Any = yield
    if report.skipped and os.environ.get("FSTMETRICS_NO_SKIPS"):
        report.outcome = "failed"
    return report
