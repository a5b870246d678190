"""What to choose: oracles, minimum-Bayes-risk decisions, and training, alone and over a corpus.

The names below are loaded when they are first used: ``import decoding`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoding.corpus.jobs import InfoJob, MBRJob, OracleJob
    from decoding.corpus.runner import Done, Failure, Segment, VocabularyWarning, run
    from decoding.extraction.corpus import CorpusOracle, corpus_oracle, statistics_front
    from decoding.extraction.oracle import (
        DensityPoint,
        Oracle,
        SizePoint,
        density_curve,
        oracle,
        oracle_at,
        oracle_kbest,
        oracles,
        worst,
    )
    from decoding.frames import frame
    from decoding.lists import rerank
    from decoding.minimum_risk.consensus import FastConsensus
    from decoding.minimum_risk.edit import EditDistance
    from decoding.minimum_risk.evidence import Evidence, evidence_of
    from decoding.minimum_risk.exact import ExactRisk
    from decoding.minimum_risk.linear import Linear
    from decoding.minimum_risk.mbr import mbr, mbr_kbest
    from decoding.minimum_risk.pairwise import Pairwise
    from decoding.minimum_risk.results import Consensus
    from decoding.minimum_risk.rover import Rover
    from decoding.minimum_risk.search import Search
    from decoding.plots import plot
    from decoding.training.hope_fear import HopeFear, hope_fear, hope_fears
    from decoding.training.mert import MERT
    from decoding.training.mira import MIRA
    from decoding.training.perceptron import Perceptron
    from decoding.training.pro import PRO
    from decoding.training.risk.learner import Risk
    from decoding.training.softmax_margin import SoftmaxMargin

__all__ = [
    "MERT",
    "MIRA",
    "PRO",
    "Consensus",
    "CorpusOracle",
    "DensityPoint",
    "Done",
    "EditDistance",
    "Evidence",
    "ExactRisk",
    "Failure",
    "FastConsensus",
    "HopeFear",
    "InfoJob",
    "Linear",
    "MBRJob",
    "Oracle",
    "OracleJob",
    "Pairwise",
    "Perceptron",
    "Risk",
    "Rover",
    "Search",
    "Segment",
    "SizePoint",
    "SoftmaxMargin",
    "VocabularyWarning",
    "corpus_oracle",
    "density_curve",
    "evidence_of",
    "frame",
    "hope_fear",
    "hope_fears",
    "mbr",
    "mbr_kbest",
    "oracle",
    "oracle_at",
    "oracle_kbest",
    "oracles",
    "plot",
    "rerank",
    "run",
    "sample_data",
    "statistics_front",
    "worst",
]

_HOMES = {
    "Consensus": "minimum_risk.results",
    "CorpusOracle": "extraction.corpus",
    "DensityPoint": "extraction.oracle",
    "Done": "corpus.runner",
    "EditDistance": "minimum_risk.edit",
    "Evidence": "minimum_risk.evidence",
    "ExactRisk": "minimum_risk.exact",
    "Failure": "corpus.runner",
    "FastConsensus": "minimum_risk.consensus",
    "HopeFear": "training.hope_fear",
    "InfoJob": "corpus.jobs",
    "Linear": "minimum_risk.linear",
    "MBRJob": "corpus.jobs",
    "MERT": "training.mert",
    "MIRA": "training.mira",
    "Oracle": "extraction.oracle",
    "OracleJob": "corpus.jobs",
    "PRO": "training.pro",
    "Pairwise": "minimum_risk.pairwise",
    "Perceptron": "training.perceptron",
    "Risk": "training.risk.learner",
    "Rover": "minimum_risk.rover",
    "Search": "minimum_risk.search",
    "Segment": "corpus.runner",
    "SizePoint": "extraction.oracle",
    "SoftmaxMargin": "training.softmax_margin",
    "VocabularyWarning": "corpus.runner",
    "corpus_oracle": "extraction.corpus",
    "density_curve": "extraction.oracle",
    "evidence_of": "minimum_risk.evidence",
    "frame": "frames",
    "hope_fear": "training.hope_fear",
    "hope_fears": "training.hope_fear",
    "mbr": "minimum_risk.mbr",
    "mbr_kbest": "minimum_risk.mbr",
    "oracle": "extraction.oracle",
    "oracle_at": "extraction.oracle",
    "oracle_kbest": "extraction.oracle",
    "oracles": "extraction.oracle",
    "plot": "plots",
    "rerank": "lists",
    "run": "corpus.runner",
    "statistics_front": "extraction.corpus",
    "worst": "extraction.oracle",
}


def sample_data() -> Path:
    """Return the folder of the data that come with the package.

    They are the lattices of 19 utterances (``s032.slf.gz`` to ``s050.slf.gz``) that PocketSphinx
    recognised, and what was said (``refs.txt``).

    Examples
    --------
    >>> sorted(file.name for file in sample_data().iterdir())[1:3]
    ['refs.txt', 's032.slf.gz']
    """
    return Path(__file__).parent / "data" / "pocketsphinx"


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("fstmetrics")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
