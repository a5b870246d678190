"""Output of ``fairseq-generate`` and ``fairseq-interactive``; read only.

Lines ``S-7`` (source), ``T-7`` (reference), ``H-7`` (score, tokens), ``D-7`` (score, text) and
``P-7`` (scores of tokens) of one number are one list; other lines are the program's messages. The
words are those of ``D`` where there are any, else those of ``H``; ``side=`` says which. Scores are
printed to base 2 and become natural logarithms: log-probabilities over ``length ** lenpen``. The
sum of ``P``, the log-probability, is the feature ``logprob``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from lattices.formats.base import Format, Record, group_lines, split_words
from lattices.formats.fields import finite_number
from lattices.options import Option
from lattices.spaces import Hypothesis, NBest
from lattices.vocabulary import Vocabulary

_SPOKEN = re.compile(rb"^[HD]-[0-9]", re.MULTILINE)
_LINE = re.compile(rb"([STHDPW])-([0-9]+)(?:\t|$)")


class Fairseq(Format):
    """See the module."""

    name = "fairseq"
    description = "output of fairseq-generate: H-, D- and P- lines"
    kind = "nbest"
    suffixes = (".fairseq", ".generate.txt")
    options: Mapping[str, str] = {
        "side": Option(
            "the lines with the words: D has text, H tokens",
            ("auto", "D", "H"),
        )
    }
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether one of the first lines is a hypothesis, with its number and a score."""
        return re.search(rb"^H-[0-9]+\t-?[0-9.]+(e-?[0-9]+)?\t", head, re.MULTILINE) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut where the number changes."""
        records = group_lines(stream, path, _number_of)
        spoken = (
            each for each in records if re.search(rb"^[HD]-[0-9]", each.payload, re.MULTILINE)
        )
        for number, record in enumerate(spoken):
            yield Record(record.payload, path, record.line, number)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list, in time linear in its length."""
        side = options.get("side", "auto")
        record.text()
        found: dict[str, list[tuple[tuple[str, ...], float]]] = {"H": [], "D": [], "P": []}
        texts = {"S": "", "T": ""}
        name = ""
        for place, line in enumerate(record.payload.split(b"\n")):
            match = _LINE.match(line)
            if match is None:
                continue
            kind, rest = match.group(1).decode(), line[match.end() :].decode("utf-8")
            name = match.group(2).decode()
            if kind in texts:
                texts[kind] = rest
            elif kind == "P":
                scores = [self._score(record, place, text) for text in split_words(rest)]
                found[kind].append(((), math.fsum(scores)))
            elif kind in found:
                score, tab, words = rest.partition("\t")
                if not tab:
                    raise record.error(f"{kind}-{name} without a score and words", place)
                number = self._score(record, place, score)
                found[kind].append((tuple(split_words(words)), number))
        chosen = found["D" if side == "D" or (side == "auto" and found["D"]) else "H"]
        if not chosen or (found["H"] and len(chosen) != len(found["H"])):
            raise record.error(f"{len(found['H'])} H lines and {len(found['D'])} D lines")
        sums = found["P"]
        if sums and len(sums) != len(chosen):
            raise record.error(f"{len(sums)} P lines for {len(chosen)} hypotheses")
        return NBest.from_hypotheses(
            [
                Hypothesis(words, score, {"logprob": sums[entry][1]} if sums else {})
                for entry, (words, score) in enumerate(chosen)
            ],
            vocabulary=vocabulary,
            feature_names=["logprob"] if sums else [],
            id=name,
            source=texts["S"],
            references=[texts["T"]] if texts["T"] else [],
        )

    def _score(self, record: Record, place: int, text: str) -> float:
        value = finite_number(text)
        if value is None:
            raise record.error(f"score {text!r}, expected a finite number", place)
        return value * math.log(2.0)


FORMAT = Fairseq()


def _number_of(line: bytes) -> bytes | None:
    match = _LINE.match(line)
    return match.group(2) if match else None
