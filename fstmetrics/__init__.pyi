from .alignment.metric import (
    AlignmentEvaluator as AlignmentEvaluator,
    AlignmentMetric as AlignmentMetric,
    Edit as Edit,
    Judgement as Judgement,
)
from .alignment.rates import CER as CER, GRR as GRR, WER as WER, WRR as WRR
from .contract import (
    CompiledEvaluator as CompiledEvaluator,
    Evaluator as Evaluator,
    Metric as Metric,
    corpus_score as corpus_score,
    corpus_stats as corpus_stats,
    has_machine as has_machine,
    nbest_stats as nbest_stats,
    quality as quality,
    scores_of as scores_of,
)
from .dependency.bllip import Bllip as Bllip, bllip_score as bllip_score
from .dependency.parses import (
    PARSERS as PARSERS,
    Parse as Parse,
    ParseTable as ParseTable,
    load_parses as load_parses,
)
from .external.utility import Utility as Utility
from .machine import Machine as Machine
from .matching.cder import CDER as CDER
from .matching.character import CharacTER as CharacTER
from .matching.gtm import GTM as GTM
from .matching.lebleu import LeBLEU as LeBLEU
from .matching.maxsim import MAXSIM as MAXSIM
from .matching.meteor import METEOR as METEOR
from .matching.ribes import RIBES as RIBES
from .ngram.bleu import BLEU as BLEU, BLEUEvaluator as BLEUEvaluator, BLEUSBP as BLEUSBP
from .ngram.document import DocumentBLEU as DocumentBLEU
from .ngram.linear import LinearBLEU as LinearBLEU
from .ngram.nist import NIST as NIST, ReferenceSet as ReferenceSet
from .ngram.per import PER as PER
from .ngram.tbleu import TBLEU as TBLEU
from .normalisation.metric import Normalised as Normalised
from .product import intersect as intersect, intersect_with_origin as intersect_with_origin
from .signature import (
    METRICS as METRICS,
    NORMALISERS as NORMALISERS,
    SIMILARITIES as SIMILARITIES,
    parse_metric as parse_metric,
)
from .similarity.affix import (
    AffixSimilarity as AffixSimilarity,
    Similarity as Similarity,
    affix_distance as affix_distance,
    affix_distances as affix_distances,
)
from .similarity.modif import BLEUModif as BLEUModif, WERModif as WERModif
from .similarity.vectors import (
    EmbeddingSimilarity as EmbeddingSimilarity,
    WordVectors as WordVectors,
    load_vectors as load_vectors,
)
