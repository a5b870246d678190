from .alignment.rates import CER as CER, GRR as GRR, WER as WER, WRR as WRR
from .combination import Combination as Combination
from .contract import (
    Evaluator as Evaluator,
    Metric as Metric,
    corpus_score as corpus_score,
    corpus_stats as corpus_stats,
)
from .dependency.bllip import Bllip as Bllip
from .dependency.parses import (
    ParseTable as ParseTable,
    load_parses as load_parses,
)
from .external.utility import Utility as Utility
from .matching.cder import CDER as CDER
from .matching.exact import Exact as Exact
from .matching.character import CharacTER as CharacTER
from .matching.gtm import GTM as GTM
from .matching.lebleu import LeBLEU as LeBLEU
from .matching.maxsim import MAXSIM as MAXSIM
from .matching.meteor import METEOR as METEOR
from .matching.ribes import RIBES as RIBES
from .matching.ter import TER as TER
from .ngram.bleu import BLEU as BLEU, BLEUSBP as BLEUSBP
from .ngram.chrf import CHRF as CHRF
from .ngram.document import DocumentBLEU as DocumentBLEU
from .ngram.linear import LinearBLEU as LinearBLEU
from .ngram.nist import NIST as NIST
from .ngram.per import PER as PER
from .ngram.tbleu import TBLEU as TBLEU
from .normalisation.metric import Normalised as Normalised
from .product import intersect as intersect
from .references import parse_variants as parse_variants
from .signature import (
    parse_metric as parse_metric,
)
from .similarity.affix import (
    AffixSimilarity as AffixSimilarity,
    Wildcards as Wildcards,
)
from .similarity.modif import BLEUModif as BLEUModif, WERModif as WERModif
from .similarity.vectors import (
    EmbeddingSimilarity as EmbeddingSimilarity,
    load_vectors as load_vectors,
)
