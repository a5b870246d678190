from .corpus.runner import (
    Done as Done,
    Failure as Failure,
    Segment as Segment,
    run as run,
)
from .corpus.table import Table as Table
from .extraction.best_of import best_of as best_of
from .extraction.best_paths import best_paths as best_paths
from .extraction.corpus_oracle import corpus_oracle as corpus_oracle
from .extraction.oracle_search import (
    Oracle as Oracle,
    density_curve as density_curve,
    oracle as oracle,
    oracle_at as oracle_at,
    oracle_kbest as oracle_kbest,
    oracles as oracles,
    worst as worst,
)
from .frames import frame as frame
from .reranking import rerank as rerank
from .minimum_risk.consensus import FastConsensus as FastConsensus
from .minimum_risk.edit import EditDistance as EditDistance, word_alternatives as word_alternatives
from .minimum_risk.evidence import Evidence as Evidence
from .minimum_risk.exact import ExactRisk as ExactRisk
from .minimum_risk.linear import Linear as Linear
from .minimum_risk.decisions import mbr as mbr, mbr_kbest as mbr_kbest
from .minimum_risk.pairwise import Pairwise as Pairwise
from .minimum_risk.method import Consensus as Consensus
from .minimum_risk.rover import Rover as Rover
from .minimum_risk.search import PrefixSearch as PrefixSearch
from .plots import plot as plot
from .tasks.choices import compare_choices as compare_choices
from .tasks.mbr import MBRTask as MBRTask
from .tasks.oracle import OracleTask as OracleTask
from .training.hope_fear import hope_fear as hope_fear, hope_fears as hope_fears
from .training.mert import MERT as MERT
from .training.mira import MIRA as MIRA
from .training.perceptron import Perceptron as Perceptron
from .training.pro import PRO as PRO
from .training.risk.learner import Risk as Risk
from .training.risk.xbleu import XBLEU as XBLEU
from .training.softmax_margin import SoftmaxMargin as SoftmaxMargin
from .sample import sample_data as sample_data
from .version import __version__ as __version__
