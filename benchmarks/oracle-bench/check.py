"""Check answers to the oracle bench: ``python check.py SPACES ANSWERS [--most ARCS]``.

Only Python is needed, and nothing of fstmetrics is used: sentences are looked for in their space,
and scored, by what stands here. ANSWERS is a tsv with the columns of answers.tsv beside this file:
task, file, id, value, bound, words. Of these only task, file, id and words (or value, where a task
has no words) are needed.

Exit code 1 if an answer is wrong, 0 otherwise; an answer that is not optimal is no error.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

#: beyond these arcs a segment takes Python too long under 4-GRR
GRR_ARCS = 2_000
TOLERANCE = 1e-6


# ---- is it a sentence of the space? -----------------------------------------------------------


def holds(space: dict[str, Any], words: Sequence[str]) -> bool:
    """Tell whether a space has a sentence."""
    if "nbest" in space:
        return any(entry["words"].split() == list(words) for entry in space["nbest"])
    return _in_lattice(space, words) if "arcs" in space else _in_forest(space, words)


def _in_lattice(space: dict[str, Any], words: Sequence[str]) -> bool:
    out: dict[int, list[Any]] = defaultdict(list)
    for arc in space["arcs"]:
        out[arc[0]].append(arc)

    def close(states: set[int]) -> set[int]:
        left = list(states)
        while left:
            for arc in out[left.pop()]:
                if arc[2] == "" and arc[1] not in states:
                    states.add(arc[1])
                    left.append(arc[1])
        return states

    states = close({space.get("start", 0)})
    for word in words:
        states = close({arc[1] for state in states for arc in out[state] if arc[2] == word})
    return any(str(state) in space["finals"] for state in states)


def _in_forest(space: dict[str, Any], words: Sequence[str]) -> bool:
    edges: dict[int, list[Any]] = defaultdict(list)
    for edge in space["edges"]:
        edges[edge["head"]].append(edge)

    @cache
    def ends(node: int, begin: int) -> frozenset[int]:
        found: set[int] = set()
        for edge in edges[node]:
            here = {begin}
            for part in edge["rhs"]:
                if isinstance(part, str):
                    here = {at + 1 for at in here if at < len(words) and words[at] == part}
                else:
                    here = {end for at in here for end in ends(edge["tails"][part], at)}
            found |= here
        return frozenset(found)

    return len(words) in ends(space.get("root", space["nodes"] - 1), 0)


# ---- what is it worth? ------------------------------------------------------------------------


def edits(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the fewest insertions, deletions and substitutions (Hyyro 2003, one long integer)."""
    if not other:
        return len(one)
    places: dict[str, int] = defaultdict(int)
    for place, token in enumerate(other):
        places[token] |= 1 << place
    mask, last = (1 << len(other)) - 1, 1 << (len(other) - 1)
    up, down, score = mask, 0, len(other)
    for token in one:
        match = places.get(token, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        more, less = down | ~(diagonal | up), up & diagonal
        score += bool(more & last) - bool(less & last)
        more, less = (more << 1 | 1) & mask, less << 1
        up, down = (less | ~(diagonal | more)) & mask, more & diagonal
    return score


def wer(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """Return edits over words of the reference."""
    return edits(hypothesis, reference) / len(reference)


def cer(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """Return edits over characters of the reference, blanks among them."""
    return wer(" ".join(hypothesis), " ".join(reference))


def grr(hypothesis: Sequence[str], reference: Sequence[str], n: int = 4) -> float:
    """Return the 4-gram recall rate with alpha = 1, beta = 0 (Chiang et al. 2008, eq. 6).

    A match that follows ``m`` matches in a row, at most ``n - 1`` of them counted, makes ``m + 1``
    n-grams; an insertion costs 1. Rows are positions in the reference, cells how many matched last.
    """
    low = -math.inf
    row = [[0.0] + [low] * (n - 1)] + [[low] * n for _ in reference]
    for place in range(len(reference)):  # deletions
        row[place + 1][0] = max(row[place])
    for word in hypothesis:
        new = [[max(row[0]) - 1.0] + [low] * (n - 1)]
        for place, said in enumerate(reference):
            before = row[place]
            most = max(before)
            cell = [low] * n
            cell[0] = max(most, max(row[place + 1]) - 1.0, max(new[place]))
            if word == said:
                for run, value in enumerate(before):
                    after = min(run + 1, n - 1)
                    cell[after] = max(cell[after], value + run + 1)
            new.append(cell)
        row = new
    return max(row[-1]) / sum(max(0, len(reference) - k) for k in range(n))


def bleu(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], add: bool) -> float:
    """Return BLEU-4 of pairs of a hypothesis and a reference; with add-1 above n = 1 if asked."""
    logs, said, meant = 0.0, 0, 0
    for n in range(1, 5):
        matches = total = 0
        for hypothesis, reference in pairs:
            ours, theirs = _ngrams(hypothesis, n), _ngrams(reference, n)
            matches += sum(min(count, theirs[gram]) for gram, count in ours.items())
            total += sum(ours.values())
        if add and n > 1:
            matches, total = matches + 1, total + 1
        if matches == 0:
            return 0.0
        logs += math.log(matches / total) / 4
    said = sum(len(hypothesis) for hypothesis, _ in pairs)
    meant = sum(len(reference) for _, reference in pairs)
    return math.exp(min(0.0, 1.0 - meant / said) + logs)


def expected_edits(words: Sequence[str], space: dict[str, Any]) -> float:
    """Return the edits to the entries of a list, by the probabilities that their scores give."""
    entries = space["nbest"]
    highest = max(each["score"] for each in entries)
    weights = [math.exp(each["score"] - highest) for each in entries]
    costs = [edits(words, each["words"].split()) for each in entries]
    return sum(map(float.__mul__, map(float, costs), weights)) / sum(weights)


def _ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


Score = Callable[[Sequence[str], Sequence[str]], float]
#: tasks whose answer is a sentence: how it is scored, and whether higher is better
SCORES: dict[str, tuple[Score, bool]] = {
    "oracle:wer": (wer, False),
    "oracle:wrr": (lambda ours, theirs: 1.0 - wer(ours, theirs), True),
    "oracle:cer": (cer, False),
    "oracle:grr": (grr, True),
    "oracle:bleu": (lambda ours, theirs: bleu([(ours, theirs)], True), True),
}
CORPUS = "corpus:bleu"
#: a sentence, too; it is scored where its space is a list
RISK = "mbr:edits"
#: the corpus of a file
ALL = "*"


# ---- answers ----------------------------------------------------------------------------------


def read(path: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return answers by task, file and id."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    missing = {"task", "file", "id"} - set(rows[0] if rows else ())
    if missing:
        raise SystemExit(f"{path}:1: no column {', '.join(sorted(missing))}")
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for line, row in enumerate(rows, 2):
        key = (row["task"], row["file"], row["id"])
        if key in found:
            raise SystemExit(f"{path}:{line}: a second answer to {' '.join(key)}")
        found[key] = row
    return found


def _size(space: dict[str, Any]) -> int:
    return max(len(space.get(part, ())) for part in ("arcs", "edges"))


def _number(text: str | None) -> float | None:
    return None if text in (None, "", "-") else float(text)  # type: ignore[arg-type]


def judge(
    known: dict[str, str], given: dict[str, str] | None, found: float | None, higher: bool
) -> tuple[str, str]:
    """Return a verdict and a remark on an answer whose sentence is worth ``found``."""
    if given is None:
        return "missing", ""
    claimed = _number(given.get("value"))
    value = found if found is not None else claimed
    if value is None:
        return "wrong", "neither a value nor words"
    if found is not None and claimed is not None and abs(found - claimed) > TOLERANCE:
        return "wrong", f"value {claimed}, but the sentence has {found:.6f}"
    exact = float(known["value"])
    bound = _number(known.get("bound"))
    lead = (value - exact) * (1 if higher else -1)
    if lead < -TOLERANCE:
        return "not optimal", f"{value:.6f}, {exact:.6f} is possible"
    if lead > TOLERANCE:
        if bound is not None and (value - bound) * (1 if higher else -1) <= TOLERANCE:
            return (
                "better",
                f"{value:.6f}, known was {exact:.6f}, which is not proven to be the best",
            )
        return "wrong", f"{value:.6f} is better than the best, {exact:.6f}"
    return "optimal", ""


def verdicts(
    folder: Path, known: dict[Any, dict[str, str]], given: dict[Any, dict[str, str]], most: int
) -> Iterator[tuple[tuple[str, str, str], str, str]]:
    """Iterate over tasks, verdicts and remarks."""
    spaces: dict[str, dict[str, Any]] = {}
    for name in sorted({file for _, file, _ in known}):
        path = folder / f"{name}.jsonl"
        if path.exists():
            with path.open(encoding="utf-8") as lines:
                spaces[name] = {each["id"]: each for each in map(json.loads, lines)}
    for key in sorted(given.keys() - known.keys()):
        if key[0] != CORPUS:
            yield key, "unknown", "no such question"
    for key, answer in known.items():
        task, file, segment = key
        ours = given.get(key)
        if file not in spaces:
            continue
        space = spaces[file].get(segment)
        size = _size(space) if space else max(map(_size, spaces[file].values()))
        if size > most:
            continue
        if task == CORPUS and segment != ALL:
            # sentences of the answer to the file
            if ours is not None and not holds(space, ours["words"].split()):
                yield key, "wrong", "no sentence of the space"
            continue
        if task == CORPUS:
            some = [
                (row["words"].split(), spaces[file][name]["refs"][0].split())
                for (which, where, name), row in given.items()
                if (which, where) == (CORPUS, file) and name in spaces[file]
            ]
            whole = len(some) == len(spaces[file])
            yield (key, *judge(answer, ours, bleu(some, False) if whole else None, True))
            continue
        if task not in SCORES and task != RISK:
            # a number that is what it is
            if ours is None:
                yield key, "missing", ""
            else:
                claimed, exact = float(ours["value"]), float(answer["value"])
                close = math.isclose(claimed, exact, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
                yield (
                    key,
                    "optimal" if close else "wrong",
                    "" if close else f"{claimed}, not {exact}",
                )
            continue
        score, higher = SCORES.get(task, (None, False))
        found = None
        if ours is not None and ours.get("words") is not None and space is not None:
            words = ours["words"].split()
            # any sentence may have few expected edits
            if task != RISK and not holds(space, words):
                yield key, "wrong", "no sentence of the space"
                continue
            if score is None:
                found = expected_edits(words, space) if "nbest" in space else None
            elif task != "oracle:grr" or size <= GRR_ARCS:
                found = score(words, space["refs"][0].split())
        yield (key, *judge(answer, ours, found, higher))


def main() -> None:
    """Check a file of answers."""
    sys.setrecursionlimit(100_000)
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("spaces", type=Path, help="the folder that make.py has written")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--known", type=Path, default=Path(__file__).with_name("answers.tsv"))
    parser.add_argument("--most", type=int, default=20_000, help="arcs a segment (default: 20,000)")
    arguments = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    given = read(arguments.answers)
    known = read(arguments.known)
    for key, verdict, remark in verdicts(arguments.spaces, known, given, arguments.most):
        counts[key[0]][verdict] += 1
        if verdict not in ("optimal", "missing"):
            print(*key, verdict, remark, sep="\t")
    for task, each in counts.items():
        print(
            task,
            ", ".join(f"{count} {verdict}" for verdict, count in sorted(each.items())),
            sep="\t",
        )
    if any(each["wrong"] or each["unknown"] for each in counts.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
