"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# kernels are compiled on first use, which no deadline should count
settings.register_profile("fstmetrics", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fstmetrics")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, or a skip where there is none."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("FSTMETRICS_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set FSTMETRICS_DATA)")
    return folder
