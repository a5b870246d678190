"""k2: a lattice intersected with the machine of edits to a reference, and the shortest path."""

from __future__ import annotations

import time
from pathlib import Path

from .common import Answer, load, number_words, text

NEEDS = "k2"
HAS = {"oracle:wer": ("lattices", "speech")}
#: the machine has an arc for every word of the lattice and every place of the reference
MOST = 2_000


def answer(path: Path, task: str) -> Answer:
    """Intersect with a machine whose states are places of the reference; costs are negative."""
    import k2

    spent, rows = 0.0, []
    for space in load(path):
        reference = space["refs"][0].split()
        number, words = number_words([space])
        final = 1 + max(max(arc[:2]) for arc in space["arcs"])
        # arcs by their sources, then an arc of label -1 to the final state
        arcs = [(src, dst, number[word], 0.0) for src, dst, word, *_ in space["arcs"]]
        arcs += [(int(state), final, -1, 0.0) for state in space["finals"]]
        lattice = k2.arc_sort(_automaton(k2, arcs, final))
        length, said = len(reference), {number[arc[2]] for arc in space["arcs"]} - {0}
        meant = [number[word] for word in reference]
        arcs = [(place, place, word, -1.0) for place in range(length + 1) for word in said]
        arcs += [
            (place, place + 1, word, -float(word != right))
            for place, right in enumerate(meant)
            for word in said
        ]
        arcs += [(place, place + 1, 0, -1.0) for place in range(length)]
        arcs.append((length, length + 1, -1, 0.0))
        machine = k2.arc_sort(_automaton(k2, arcs, length + 1))
        started = time.perf_counter()
        product = k2.connect(k2.intersect(lattice, machine, treat_epsilons_specially=True))
        # the same states must be in topological order for the shortest path
        best = k2.shortest_path(k2.top_sort(product), use_double_scores=True)
        spent += time.perf_counter() - started
        value = text(-float(best.scores.sum()) / length)
        sentence = [words[label] for label in best.labels.tolist() if label > 0]
        rows.append((space["id"], value, value, " ".join(sentence)))
    return rows, spent


def _automaton(k2, arcs, final):  # type: ignore[no-untyped-def]
    lines = [f"{src} {dst} {label} {score}" for src, dst, label, score in sorted(arcs)]
    return k2.Fsa.from_str("\n".join([*lines, str(final)]))
