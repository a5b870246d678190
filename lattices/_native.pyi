"""Searches and algorithms over lattices and forests."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, overload

import numpy
import numpy.typing
from numpy.typing import NDArray


def in_bytes(bytes: float) -> str:
    """Return a number of bytes for people, as 2.1 GB."""

class LatticeColumns:
    """The columns of a lattice, checked."""

    def __init__(self, src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], in_arc: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], in_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: int, called: str = 'the lattice') -> None: ...

    @property
    def src(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def dst(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def label(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def score(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def final(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def in_arc(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def in_offset(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def out_offset(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def start(self) -> int: ...

    @property
    def size(self) -> int: ...

class ForestColumns:
    """The columns of a forest, checked."""

    def __init__(self, head: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tail: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tail_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], symbol: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], symbol_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], in_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], root: int, called: str = 'the forest') -> None: ...

def normal_form(src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: int) -> tuple[int, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return what a lattice lacks to be in normal form, the order of its arcs, and the arcs into
    and out of its states.
    """

def topological_numbers(src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], nodes: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], int]:
    """
    Return a number for every node, sources first, and how many could be numbered.
    """

@overload
def inside(space: LatticeColumns, semiring: int, scale: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

@overload
def inside(space: ForestColumns, semiring: int, scale: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the sum over all that leads to each node."""

@overload
def outside(space: LatticeColumns, semiring: int, scale: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

@overload
def outside(space: ForestColumns, semiring: int, scale: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the sum over all that completes each node."""

@overload
def total(space: LatticeColumns, semiring: int, scale: float) -> float: ...

@overload
def total(space: ForestColumns, semiring: int, scale: float) -> float:
    """Return the sum over all complete paths or derivations."""

@overload
def check_sums(space: LatticeColumns) -> None: ...

@overload
def check_sums(space: ForestColumns) -> None:
    """Raise if the scores of some path may overflow, summed in any order."""

@overload
def path_lengths(space: LatticeColumns) -> tuple[float, float]: ...

@overload
def path_lengths(space: ForestColumns) -> tuple[float, float]:
    """Return how many words the shortest and the longest path have."""

@overload
def posteriors(space: LatticeColumns, scale: float) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]: ...

@overload
def posteriors(space: ForestColumns, scale: float) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return how often each edge and node is used, and each node ended in, on average.
    """

@overload
def edge_shares(space: LatticeColumns, scale: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

@overload
def edge_shares(space: ForestColumns, scale: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the probability of each edge where its head is derived."""

@overload
def max_marginals(space: LatticeColumns) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]: ...

@overload
def max_marginals(space: ForestColumns) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return the best score, and what each edge and each end loses to it at least.
    """

@overload
def best_path(space: LatticeColumns) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

@overload
def best_path(space: ForestColumns) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
    """Return the arcs of the best path, or the edges of the best derivation."""

@overload
def sample_paths(space: LatticeColumns, n: int, scale: float, generator: object) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]: ...

@overload
def sample_paths(space: ForestColumns, n: int, scale: float, generator: object) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return n random paths. The capsule is that of a numpy BitGenerator, whose lock is held.
    """

class FeatureColumns:
    """The features of a space, checked."""

    def __init__(self, names: tuple[str, ...], bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end_bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], end_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], end_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def size(self) -> int: ...

    def row(self, row: int) -> dict[str, float]:
        """Return the features of one row that are not zero, by name."""

    def rows(self, ends: bool = False) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
        """Return values, columns and bounds of the rows of edges, or of ends."""

@overload
def path_fields(space: LatticeColumns, features: FeatureColumns | None, strings: list[str], edges: Sequence[int]) -> tuple[tuple[str, ...], float, dict[str, float], tuple[int, ...]]: ...

@overload
def path_fields(space: ForestColumns, features: FeatureColumns | None, strings: list[str], edges: Sequence[int]) -> tuple[tuple[str, ...], float, dict[str, float], tuple[int, ...]]:
    """
    Return the tokens, the score, the features and the edges of a path or derivation.
    """

@overload
def paths_fields(space: LatticeColumns, features: FeatureColumns | None, strings: list[str], edges: numpy.typing.NDArray[numpy.int32], offset: numpy.typing.NDArray[numpy.int32]) -> list[tuple[tuple[str, ...], float, dict[str, float], tuple[int, ...]]]: ...

@overload
def paths_fields(space: ForestColumns, features: FeatureColumns | None, strings: list[str], edges: numpy.typing.NDArray[numpy.int32], offset: numpy.typing.NDArray[numpy.int32]) -> list[tuple[tuple[str, ...], float, dict[str, float], tuple[int, ...]]]:
    """Return what path_fields says of each of several paths."""

def spell_derivations(forest: ForestColumns, edges: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return the words of many derivations, where each begins, and their scores.
    """

def canonical_rows(bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]] | None:
    """
    Return bounds, columns and values of rows with their columns in order and one value
    for each; None if they are so already.
    """

def reordered_rows(bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the values, columns and bounds of these rows of a sparse matrix, an empty one for
    each that is negative.
    """

def useful_states(lattice: LatticeColumns) -> Annotated[NDArray[numpy.int8], dict(shape=(None,), writable=False)]:
    """Return, for every state, whether it lies on a complete path: 1 or 0."""

def has_derivation(forest: ForestColumns) -> bool:
    """Tell whether the root can be derived."""

def lattice_part(lattice: LatticeColumns, keep_arcs: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], keep_finals: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[str, Any]:
    """
    Return the columns of the lattice of complete paths of these arcs and ends, by name; none
    if that is all of it.
    """

def forest_part(forest: ForestColumns, keep: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[str, Any]:
    """
    Return the columns of the forest of derivations of these edges, by name; none if that is
    all of it.
    """

def push(lattice: LatticeColumns, where: str) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], float]:
    """
    Return the scores of arcs and of ends, moved to the "start", to the "final" states, or with
    what lies "ahead" taken out, and the best score of all.
    """

def epsilon_closures(lattice: LatticeColumns, summed: bool) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return begin, end, score, last arc and entry before it of the epsilon paths that matter.
    """

def character_arcs(lattice: LatticeColumns, word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], letter: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], space: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return source, target, label and origin of each arc of characters, and the state that each
    of their states is a copy of.
    """

def character_edges(forest: ForestColumns, word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], letter: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], space: int) -> tuple[dict[str, Any], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the columns of the forest of characters, by name, and the edge each comes from.
    """

def expand(forest: ForestColumns, max_states: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], int, bool] | None:
    """
    Return source, target, label and edge of each arc of a trimmed forest's lattice, its number
    of states, and whether it begins in state 0 and not in 1; None if it has more states.
    """

def words_said(characters: ForestColumns, words: ForestColumns, origin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
    """Return the words that the symbols of a forest of characters stand for."""

def json_arcs(record: bytes) -> tuple[int, int, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], list[str], list[str], bool] | None:
    """
    Return the arcs of a JSON object: where they stand, src, dst, word, score, the
    offsets, columns and values of features, words and names, and whether any has an
    escape. None if anything is unusual.
    """

def lattice_of_columns(src: NDArray[numpy.int32], dst: NDArray[numpy.int32], label: NDArray[numpy.int32], score: NDArray[numpy.float64], final: NDArray[numpy.float64], start: int, words: int, names: tuple[str, ...], features: tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64]] | None, final_features: tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64]] | None, called: str) -> tuple[LatticeColumns, FeatureColumns | None] | None:
    """
    Return columns and features in normal form; None if states are in no topological
    order, or anything is wrong.
    """

def kaldi_text(record: bytes) -> tuple[int, int, bool, int, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], list[bytes], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return what the lines of a lattice say: problem, line, compact, start, src, dst,
    frames, graph, acoustic, final_graph, final_acoustic, label, the different labels
    and the line of each.
    """

def slf_lines(record: bytes, quotes: bool) -> tuple[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], list[bytes], dict[bytes, Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]], dict[bytes, Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], list[bytes]], tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], list[bytes], dict[bytes, Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]], dict[bytes, Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], list[bytes]], list[bytes], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]] | None:
    """
    Return the node lines and the link lines of an HTK lattice, and the others with
    their places. Of lines: places, keys, numbers and names of nodes by key, the number
    of each word, and words. None if anything is unusual.
    """

def fst_text(record: bytes, acceptor: bool | None, input: bool) -> tuple[int, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], list[bytes]] | None:
    """
    Return what OpenFst's text says: start, src, dst, label, cost, final cost, and the
    different labels. None if anything is unusual.
    """

def moses_list(record: bytes) -> tuple[bytes, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], list[str], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], bytes, list[str]] | None:
    """
    Return an n-best list of Moses: id, the number of each word, where lines begin,
    words, scores, values of features, the features of the first line, and what
    stands behind scores, if anything. None if anything is unusual.
    """

def empty_line_ends(data: bytes) -> list[int]:
    """Return the places behind the empty lines of a text."""

def fst_states(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], place: int, announced: int, wide: bool) -> tuple[bool, int, int, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return the states of an OpenFst vector FST: complete, states, end, src, ilabel,
    olabel, weight, dst, final. States up to the end if -1 are announced.
    """

def kaldi_states(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], place: int, announced: int, compact: bool, wide: bool) -> tuple[bool, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return the states of a Kaldi lattice: sound, src, dst, label, frames, graph,
    acoustic, final_graph, final_acoustic.
    """

def kaldi_end(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], place: int, announced: int, compact: bool, wide: bool) -> int | None:
    """
    Return the place behind the states of a Kaldi lattice; None if they are cut short.
    """

def symbols_end(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], place: int) -> int | None:
    """Return the place behind a symbol table; None if it is cut short."""

def symbols_at(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], place: int, magic: int) -> tuple[list[str], Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)], int] | None:
    """
    Return the symbols and keys of a table, and where it ends; None if it is damaged.
    """

def distinct_labels(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the different labels as they come, and the number of each among them.
    """

def kaldi_scores(graph: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], acoustic: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lm_scale: float, acoustic_scale: float) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return scores, and the values of both features, one row after the other.
    """

def kaldi_frames(src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], frames: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: int, states: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)] | None:
    """
    Return the frame of every state; None if one has none, or more than one.
    """

def normal_lattices(wanted: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], src: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], dst: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], label: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], score: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], final: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], start: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], words: int) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Tell which rows of a batch are lattices in normal form; return the arcs into and
    out of their states.
    """

def sound_matrices(wanted: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], height_at: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], width_at: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], column: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], value: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]:
    """Tell which rows of a batch are sparse matrices as scipy wants them."""

class Labels:
    """The numbers of labels in a vocabulary."""

    def __init__(self) -> None: ...

def kaldi_ends(data: bytes) -> list[int]:
    """
    Return the places behind the lattices of an archive, as far as they are complete.
    """

def kaldi_lattice(record: bytes, labels: Labels, number: Callable[[list[int]], list[int] | None], strings: list[str], names: tuple[str, ...], lm_scale: float, acoustic_scale: float, frame_shift: float) -> tuple[str, LatticeColumns, FeatureColumns, Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)] | None] | None:
    """
    Return key, columns, features and times of a lattice; None if anything is unusual.
    `number` gives the numbers of labels not met before, or None if one has none.
    """

def joined_lattices(lattices: Sequence[LatticeColumns], features: Sequence[FeatureColumns | None]) -> tuple[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]], tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]], tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]]:
    """
    Return columns of lattices, one after the other: where arcs and states of each begin,
    src, dst, label, score, final; and features of arcs and of ends: which have any,
    where their bounds begin, bounds, where their entries begin, columns, values.
    """

def kaldi_lines(key: str, lattice: LatticeColumns, name: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], names: list[str], graph: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], acoustic: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final_graph: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final_acoustic: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], compact: bool) -> bytes:
    """
    Return a lattice of a Kaldi text archive; `name` says which of `names` an arc has.
    """

def plain_kaldi_lines(key: str, lattice: LatticeColumns, features: FeatureColumns | None, graph: int, acoustic: int, tolerance: float, strings: list[str], compact: bool) -> bytes | None:
    """
    Return a lattice of a Kaldi text archive, with words of a vocabulary, and two features
    or negated scores for costs. None if anything is unusual.
    """

def kaldi_costs(lattice: LatticeColumns, features: FeatureColumns | None, graph: int, acoustic: int, tolerance: float) -> tuple[bool, Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return whether scores are the sums of costs, and the costs: graph, acoustic,
    final_graph, final_acoustic. They are two features, or else of scores alone.
    """

def moses_lines(id: str, word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], words: list[str], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: FeatureColumns | None, group_names: list[str], group_column: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], group_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], extra: list[str]) -> bytes:
    """
    Return the lines of an n-best list of Moses; `word` says which of `words` each is.
    """

def number_text(value: float) -> bytes:
    """Return a number as Python's repr spells it."""

def path_list(lattice: LatticeColumns, features: FeatureColumns | None, arcs: numpy.typing.NDArray[numpy.int32], offset: numpy.typing.NDArray[numpy.int32]) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], FeatureColumns | None, bool]:
    """
    Return the words of complete paths, where those of each begin, the scores, the
    features, and whether all scores and features are finite.
    """

def k_best_lists(problems: list[tuple[LatticeColumns, FeatureColumns | None]], k: int, distinct: bool, workers: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], list[tuple[int, int]], list[FeatureColumns | None], bool]:
    """
    Return the k best paths of each lattice as lists: the words of all of them, where those of
    each entry begin in its list, the scores, the entries and words of each list, the features,
    and whether all scores and features are finite. A lattice without a path has no entries.
    """

def k_best_paths(lattice: LatticeColumns, k: int, distinct: bool) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the arcs of the best paths, one after the other, and where each begins.
    """

def k_best_derivations(forest: ForestColumns, k: int, distinct: bool) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """Return the edges of the best derivations, and where each begins."""

def ranked_paths(lattice: LatticeColumns, word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final_gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: float, weight: float, k: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the arcs of the sentences of the highest sign * (gain + weight * score).
    """

def ranked_derivations(forest: ForestColumns, said: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: float, weight: float, k: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the edges of the sentences of the highest sign * (gain + weight * score).
    """

def best_in_product(lattice: LatticeColumns, word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], automaton: RowAutomatonColumns, weight: float, k: int, memory: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """Return the arcs of the sentences of the highest gain + weight * score."""

class ForestSearch:
    """The search of forests, for other modules."""

FOREST_SEARCH: ForestSearch = ...

def rank_forest(forest: ForestColumns, said: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], machine: Sequence[tuple[AlignmentColumns, float, float]], model_weight: float, k: int, memory: int) -> tuple[list[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]], list[tuple[float, bool]]]:
    """
    Return the derivations of the best sentences, and how much less than the best was looked for each time and whether that was all.
    """

def forest_product(forest: ForestColumns, said: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], machine: Sequence[tuple[AlignmentColumns, float, float]], slack: float, memory: int) -> tuple[int, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the number of nodes, head, tails, symbols, gain, edge of the forest and part
    of the machine of each edge of the product that comes within the slack of the best.
    """

def plan_forest(forest: ForestColumns, alignment: AlignmentColumns) -> tuple[bool, list[int], list[int]]:
    """
    Return if single precision is enough, what is asked of each node (0 nothing, 1 from the beginning, 2 from anywhere), and how many rows of items it has.
    """

class NgramTrie:
    """N-grams as rows of (prefix, word, suffix, length); the first is empty."""

    def __len__(self) -> int: ...

    def rows(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...

    def __getstate__(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...

    def __setstate__(self, arg: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], /) -> None: ...

    def values_elsewhere(self, other: NgramTrie, value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
        """
        Return the value that each n-gram has in another table; `words` are the numbers that
        words have there.
        """

class Unfolded:
    """A space unfolded by contexts."""

    @property
    def ngrams(self) -> NgramTrie: ...

    @property
    def num_items(self) -> int: ...

    @property
    def num_edges(self) -> int: ...

    @property
    def complete(self) -> bool: ...

@overload
def unfold(space: LatticeColumns, order: int, most: int) -> Unfolded | None: ...

@overload
def unfold(space: ForestColumns, order: int, most: int) -> Unfolded | None:
    """
    Return a space unfolded by contexts of order - 1 words, or None if it has more than `most`
    edges.
    """

@overload
def ngram_values(space: LatticeColumns, unfolded: Unfolded, scale: float, every: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)] | None: ...

@overload
def ngram_values(space: ForestColumns, unfolded: Unfolded, scale: float, every: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)] | None:
    """
    Return the expected count of each n-gram, or the probability of its presence; None if the
    scale makes scores infinite.
    """

def sentence_ngrams(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int) -> tuple[NgramTrie, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the n-grams of sentences, and for each word the longest that ends with it.
    """

def sentence_ngram_values(trie: NgramTrie, gram: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], every: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """
    Return the sum of the weights of the sentences that have each n-gram, once or every time.
    """

class AlignmentColumns:
    """The columns of an alignment, checked."""

    def __init__(self, length: int, order: int, insertion: float, deletion: float, heaviest: float, word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], position: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class AutomatonColumns:
    """The columns of an automaton, checked and put in order."""

    def __init__(self, automaton: RowAutomatonColumns) -> None: ...

def search_spaces(spaces: Sequence[LatticeColumns | ForestColumns], machines: Sequence[Sequence[tuple[AlignmentColumns | AutomatonColumns, float, float]]], model_weight: float, memory: int, workers: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], list[tuple[int, str, bool]]]:
    """
    Return the value of the best path or derivation of each space, the part of the
    machine it comes from (-1 where no path is complete), where its arcs or edges begin
    in a column of all, and which spaces cannot be searched, why, and whether it would
    take more than so many bytes.

    A machine is a sequence of parts (automaton, denominator, bonus).
    """

def search_near(lattice: LatticeColumns, word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], parts: Sequence[tuple[AlignmentColumns | AutomatonColumns, float, float]], weight: float, k: int, memory: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], bool]:
    """
    Return the arcs of the k best sentences, where those of each begin, and whether all are
    sure to be in their place. Parts are (automaton, 1, bonus), their gains of one unit.
    """

class RowAutomatonColumns:
    def __init__(self, src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], forgotten: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], kept: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], lead: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def largest_total(self, steps: float) -> float:
        """Return a bound of what any alignment gains or loses."""

    def has_whole_gains(self) -> bool:
        """Tell whether all gains are whole numbers."""

class RowTables:
    """An automaton, ready to be read by rows."""

    def __init__(self, automaton: RowAutomatonColumns, narrow: bool) -> None: ...

    def read(self, words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]]:
        """
        Return the rows before, between and behind the words of a sentence, and what was
        gained with each, then by ending. What is absent is -2**30 or less.
        """

    @property
    def row_bytes(self) -> int:
        """
        What one more row takes in a search: the row, its answers and its steps.
        """

    def words(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """Return the words that some arc reads, ascending."""

def row_product(lattice: LatticeColumns, machine: RowTables, pairs: int, bytes: int) -> tuple[float, int, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]] | None:
    """
    Return the product of a lattice with rows, or None beyond the budget of pairs and bytes:
    the opening gain, the number of rows; state and ending of each pair; source, target,
    origin and gain of each arc.
    """

def lowest_path(lattice: LatticeColumns, machine: RowTables, model_weight: float, pairs: int, bytes: int, widest: int) -> tuple[float, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]] | None:
    """
    Return the lowest value of a sentence and the arcs of its path, or None beyond the budget
    of pairs and bytes. A state keeps at most `widest` prefixes, if that is not 0.
    """

class ForestRowAim:
    """What a product of a forest is made for."""

    def __init__(self, sign: float, weight: float, k: int) -> None: ...

def forest_row_product(forest: ForestColumns, machine: RowTables, aim: ForestRowAim, pairs: int, bytes: int, steps: int, cells: int) -> tuple[int, int, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]] | None:
    """
    Return the product of a forest with rows, or None beyond the budget of pairs, of bytes, of
    edges that are looked at, and of cells of matrices: the numbers of pairs and of rows; head,
    origin and gain of each edge; tails and their offsets.
    """

def longest_sentence(forest: ForestColumns) -> float:
    """
    Return the number of words of the longest sentence: it can be huge, hence a float.
    """

class WordPatternColumns:
    """A pattern of words as two deterministic automata, checked."""

    def __init__(self, word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], word_class: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], forward: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], backward: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int) -> None: ...

def find_matches(lattice: LatticeColumns, patterns: Sequence[WordPatternColumns], times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, threshold: float) -> list[tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]]:
    """
    Return for each pattern the probability of a match, and its occurrences.
    """

class LengthGraph:
    """
    Weighted sentences as a graph to walk, every step with its probability and its length.

    Nodes are in topological order, the first one is the start. Edges are grouped by target:
    those into node q are in_offset[q] up to in_offset[q + 1]. An edge has the place of its word
    in words (-1 for none) and the probability of being taken once at its source; a node has the
    probability of ending once there, and the number of words behind it.
    """

    @property
    def words(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def in_offset(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def source(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def word(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def taken(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def stop(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def length(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def nodes(self) -> int:
        """How many nodes there are."""

    @property
    def longest(self) -> int:
        """How many words the longest sentence has."""

def length_graph(lattice: LatticeColumns, scale: float, outside: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], memory: int) -> LengthGraph:
    """
    Return a lattice with its states split by the number of words behind them.
    """

def list_graph(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> LengthGraph:
    """
    Return the prefix tree of weighted sentences label[offset[i]:offset[i + 1]].
    """

class AlignmentListColumns:
    """Alignments of one order and with the same costs, checked."""

    def __init__(self, order: int, insertion: float, deletion: float, heaviest: float, length: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], position: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class AlignmentSet:
    """Several alignments of one order, ready to be read by rows."""

    def __init__(self, alignments: AlignmentListColumns, words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], largest: float) -> None:
        """Sums of gains stay below the largest."""

    def read(self, number: int, words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]]:
        """
        Return the rows before, between and behind some words (places among those that the
        alignments were made for) under one alignment, and what was gained with each, then by
        ending. What is absent is less than -2**60.
        """

def value_moments(graph: LengthGraph, alignments: AlignmentSet, constant: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pairs: int, bytes: int, negligible: float) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return mean and variance of the value under each alignment, the probability that was not
    followed, and the pairs of a node and a row that there were, -1 beyond the budget.
    """
