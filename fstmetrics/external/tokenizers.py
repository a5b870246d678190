"""sacreBLEU's tokenisers, by name and through its package, for scores that others can repeat."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from lattices.errors import MissingDependencyError, OptionError
from lattices.optional import require

#: text is cut at ASCII white space, tokens are left as they come
NO_TOKENIZER = "none"
#: the tokens of a sentence are those of its words, one after the other; the others look at what
#: stands beside a word (``intl``: whether it is the first), or join and split words
WORD_BY_WORD = frozenset(["13a", "char"])


def check_tokenizer(name: str) -> None:
    """Refuse a name that sacreBLEU does not know; ``none`` is known without it."""
    if name == NO_TOKENIZER:
        return
    known = tuple(_bleu_class().TOKENIZERS)
    if name not in known:
        raise OptionError(f"tokenize={name}: expected one of {', '.join(known)}")


@lru_cache(maxsize=16)
def tokenizer(name: str) -> Callable[[str], str]:
    """Return the tokeniser of this name: from text to text with blanks between the tokens.

    Some need more than sacreBLEU itself: ``ja-mecab`` and ``ko-mecab`` a package each, the
    sentence-piece ones (``spm``, ``flores101``, ``flores200``) a model that sacreBLEU
    fetches when it is first used.
    """
    check_tokenizer(name)
    try:
        return cast("Callable[[str], str]", _bleu_class()(tokenize=name).tokenizer)
    except (ImportError, RuntimeError) as problem:
        raise MissingDependencyError(f"sacreBLEU's tokeniser {name!r}: {problem}") from problem


def _bleu_class() -> Any:
    return require("sacrebleu.metrics.bleu", "sacrebleu").BLEU
