"""Pictures of lattices and forests: their states and arcs, nodes and edges, as graphs to draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lattices.drawing import Arc, Graph, Node
from lattices.errors import OptionError, SpaceError
from lattices.vocabulary import EPSILON

if TYPE_CHECKING:
    from lattices.spaces.forest import Forest
    from lattices.spaces.lattice import Lattice

EPSILON_SIGN = "ε"


def lattice_graph(
    lattice: Lattice,
    marks: Mapping[str, object],
    posteriors: object = None,
    scores: bool = False,
) -> Graph:
    """Return a lattice as a graph to draw; arguments are as of :meth:`Lattice.plot`."""
    chosen = {
        name: lattice_path(lattice, found) for name, found in marks.items() if found is not None
    }
    shares = _shares(posteriors, "arcs", lattice.num_arcs)
    last = lattice.final.tolist()
    times = None if lattice.times is None else lattice.times.tolist()
    nodes = []
    for state, final in enumerate(last):
        note = f"state {state}"
        if times is not None:
            note += f", {times[state]:.2f} s"
        if final > -np.inf:
            note += f", final {final:.4g}"
        nodes.append(Node(str(state), state == lattice.start, final > -np.inf, note))
    words = [lattice.vocabulary.word(label) for label in lattice.label.tolist()]
    targets = [(target,) for target in lattice.dst.tolist()]
    rows = zip(lattice.src.tolist(), targets, words, lattice.score.tolist(), strict=True)
    arcs = _arcs("arc", rows, shares, scores)
    title = f"{lattice.num_states} states, {lattice.num_arcs} arcs"
    return Graph(nodes, arcs, chosen, _add_title(lattice.id, title), _legend(shares))


def forest_graph(
    forest: Forest,
    marks: Mapping[str, object],
    posteriors: object = None,
    scores: bool = False,
) -> Graph:
    """Return a forest as a graph to draw; arguments are as of :meth:`Forest.plot`."""
    chosen = {
        name: derivation_edges(forest, found) for name, found in marks.items() if found is not None
    }
    shares = _shares(posteriors, "edges", forest.num_edges)
    categories = forest.categories or ("",) * forest.num_nodes
    nodes = []
    for node, category in enumerate(categories):
        note = f"node {node}"
        if forest.spans is not None:
            begin, end = forest.spans[node].tolist()
            note += f", source words {begin} to {end}"
        text = f"{category} {node}".strip()
        nodes.append(Node(text, False, node == forest.root, note))
    symbols, sides = forest.symbol.tolist(), forest.symbol_offset.tolist()
    tails, slots = forest.tail.tolist(), forest.tail_offset.tolist()
    rows = []
    for edge, (head, score) in enumerate(
        zip(forest.head.tolist(), forest.score.tolist(), strict=True)
    ):
        mine = tails[slots[edge] : slots[edge + 1]]
        # a slot is shown as the node that fills it
        side = " ".join(
            f"[{mine[-1 - symbol]}]" if symbol < 0 else forest.vocabulary.word(symbol)
            for symbol in symbols[sides[edge] : sides[edge + 1]]
        )
        # a node that fills two slots is drawn to once
        rows.append((head, tuple(dict.fromkeys(mine)), side, score))
    arcs = _arcs("edge", rows, shares, scores)
    title = f"{forest.num_nodes} nodes, {forest.num_edges} edges"
    return Graph(
        nodes, arcs, chosen, _add_title(forest.id, title), _legend(shares), hyperedges=True
    )


def _arcs(
    kind: str, rows: Iterable[tuple[int, tuple[int, ...], str, float]], shares: Any, scores: bool
) -> list[Arc]:
    """Return what to draw of arcs or edges: source, targets, words and score of each."""
    arcs = []
    for number, (source, targets, text, score) in enumerate(rows):
        shown, share = text or EPSILON_SIGN, None if shares is None else float(shares[number])
        value = _value(share, score if scores else None)
        note = _note(f"{kind} {number}: {shown}", score, share)
        arcs.append(Arc(source, targets, shown, value, bool(text), share, note))
    return arcs


def lattice_path(lattice: Lattice, found: object) -> tuple[int, ...]:
    """Return the arcs of a sentence: its own path if it is one of this lattice, or the best."""
    arcs, tokens = _path_and_tokens(found)
    if arcs and _says(lattice, arcs, tokens):
        return arcs
    path = _best_path(lattice, tokens)
    if path is None:
        raise SpaceError(f"lattice {lattice.id!r} has no path with the words {' '.join(tokens)!r}")
    return path


def derivation_edges(forest: Forest, found: object) -> tuple[int, ...]:
    """Return the edges of a derivation of this forest, without repetition."""
    edges, tokens = _path_and_tokens(found)
    if not edges or not _says(forest, edges, tokens):
        raise SpaceError(f"{found!r:.80} is no derivation of forest {forest.id!r}")
    return tuple(dict.fromkeys(edges))


def _path_and_tokens(found: object) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return arcs and words of a hypothesis, of a result that has one, or of a sentence."""
    found = getattr(found, "hypothesis", found)
    if isinstance(found, str):
        return (), tuple(found.split())
    tokens: Any = getattr(found, "tokens", found)
    if not isinstance(tokens, Sequence) or not all(isinstance(one, str) for one in tokens):
        raise OptionError(
            f"{type(found).__name__} to point out, expected a hypothesis, a result or a sentence"
        )
    return tuple(getattr(found, "arcs", ())), tuple(tokens)


def _says(space: Lattice | Forest, arcs: Sequence[int], tokens: tuple[str, ...]) -> bool:
    """Tell whether arcs are a path of this space, with these words."""
    try:
        return space.hypothesis(arcs).tokens == tokens
    except SpaceError:
        return False


def _best_path(lattice: Lattice, tokens: Sequence[str]) -> tuple[int, ...] | None:
    """Return the best path with these words: the best arc into each (state, words behind)."""
    words = [lattice.vocabulary.id(token) if token in lattice.vocabulary else -1
             for token in tokens]  # fmt: skip
    best: dict[tuple[int, int], tuple[float, int, int]] = {(lattice.start, 0): (0.0, -1, 0)}
    reached: list[list[int]] = [[] for _ in range(lattice.num_states)]
    reached[lattice.start].append(0)
    target, label, score = lattice.dst.tolist(), lattice.label.tolist(), lattice.score.tolist()
    bounds = lattice.out_offset.tolist()
    for state in range(lattice.num_states):
        for behind in reached[state]:
            before = best[state, behind][0]
            for arc in range(bounds[state], bounds[state + 1]):
                if label[arc] == EPSILON:
                    then = behind
                elif behind < len(words) and label[arc] == words[behind]:
                    then = behind + 1
                else:
                    continue
                pair = target[arc], then
                if pair not in best:
                    reached[target[arc]].append(then)
                if pair not in best or before + score[arc] > best[pair][0]:
                    best[pair] = before + score[arc], arc, behind
    ends = [state for state in lattice.finals.tolist() if (state, len(words)) in best]
    if not ends:
        return None
    state = max(ends, key=lambda one: best[one, len(words)][0] + float(lattice.final[one]))
    behind, path = len(words), []
    while (arc := best[state, behind][1]) >= 0:
        path.append(arc)
        behind, state = best[state, behind][2], int(lattice.src[arc])
    return tuple(reversed(path))


def _shares(posteriors: object, name: str, count: int) -> Any:
    """Return the posteriors of arcs or edges as a column, or None."""
    if posteriors is None:
        return None
    given: Any = getattr(posteriors, name, posteriors)
    shares = np.asarray(given, dtype=np.float64)
    if shares.shape != (count,):
        raise OptionError(f"posteriors of shape {shares.shape}, expected one for {count} {name}")
    return shares


def _value(share: float | None, score: float | None) -> str:
    numbers = [] if share is None else [f"{share:.2f}"]
    if score is not None:
        numbers.append(f"{score:.4g}")
    return " ".join(numbers).replace("-", "\u2212")


def _note(what: str, score: float, share: float | None) -> str:
    return f"{what}, score {score:.4g}" + ("" if share is None else f", posterior {share:.3g}")


def _add_title(name: str, title: str) -> str:
    return f"{name} · {title}" if name else title


def _legend(shares: object) -> tuple[str, ...]:
    return () if shares is None else ("the thicker the line, the higher the posterior",)
