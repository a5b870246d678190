"""Pictures of labelled graphs as SVG: lattices, forests and machines alike.

A node is a circle or a pill. Every arc has a place of its own for its label, in a layer between
those of nodes; its line ends before the label and goes on behind it, so that nothing is ever drawn
over a word. An arc may have any number of targets, as a hyperedge has.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lattices.drawing.layout import Layout, Size, find_turned_arcs, layers
from lattices.drawing.layout import place_nodes as laid_out
from lattices.drawing.markup import Svg, escape_text
from lattices.errors import SpaceError

#: arcs up to which a notebook shows a picture by itself
READABLE = 300
#: layers of nodes that all arcs of a picture may cross together: it takes some seconds then
MOST_CROSSED = 20_000
#: letters of a label; all of it is in the tooltip
LONGEST = 28

_RADIUS = 10.0
_FONT, _SMALL = 12.0, 9.5
_LINE = 15.0
_ACROSS, _BETWEEN = 20.0, 3.0
_MARGIN = 14.0
_SQUARE = 8.0
_LOOP = 13.0
_THIN, _THICK = 0.6, 5.0


@dataclass(frozen=True)
class Node:
    """A node: the text inside it, whether paths begin or end there, and its tooltip."""

    text: str
    initial: bool = False
    final: bool = False
    note: str = ""


@dataclass(frozen=True)
class Arc:
    """An arc, or a hyperedge where it has not exactly one target."""

    source: int
    targets: tuple[int, ...]
    label: str
    value: str = ""  # a number beside the label, or nothing
    is_word: bool = True  # false for what is no word: epsilon, any word
    weight: float | None = None  # from 0 to 1, how thick the line is
    note: str = ""  # the tooltip


@dataclass(frozen=True)
class Graph:
    """What there is to draw."""

    nodes: Sequence[Node]
    arcs: Sequence[Arc]
    # arcs to point out, by what they are called in the legend; the first three have colours
    marks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    title: str = ""
    notes: Sequence[str] = ()  # lines of the legend beside those of the marks
    # whether arcs are drawn as hyperedges: with a square, and without a direction
    hyperedges: bool = False


#: what is pointed out: class, and how its line differs for those who do not see the colours
_MARKS = ("first", "second", "third")
_STYLE = """
.lattices-picture{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;font-size:12px}
.lattices-picture .ground{fill:#ffffff}
.lattices-picture text{fill:#1f2328}
.lattices-picture .muted{fill:#656d76}
.lattices-picture .small{font-size:9.5px}
.lattices-picture .node{fill:#f2f4f7;stroke:#57606a}
.lattices-picture .line{fill:none;stroke:#8c959f;stroke-linecap:round}
.lattices-picture .head{fill:#57606a}
.lattices-picture .marked{font-weight:bold}
.lattices-picture .mark{fill:none;stroke-width:2.6}
.lattices-picture .first{stroke:#0072b2}
.lattices-picture .second{stroke:#d55e00;stroke-dasharray:7 3.5}
.lattices-picture .third{stroke:#008a64;stroke-dasharray:0.1 5;stroke-width:3.4;
    stroke-linecap:round}
@media (prefers-color-scheme:dark){
.lattices-picture .ground{fill:#0d1117}
.lattices-picture text{fill:#e6edf3}
.lattices-picture .muted{fill:#9198a1}
.lattices-picture .node{fill:#21262d;stroke:#9198a1}
.lattices-picture .line{stroke:#6e7681}
.lattices-picture .head{fill:#9198a1}
.lattices-picture .first{stroke:#58a6ff}
.lattices-picture .second{stroke:#ff9e57}
.lattices-picture .third{stroke:#3fb984}
}
"""

_NARROW = frozenset("ijltfrI.,:;'`|!()[]{}/\\ -\"")
_WIDE = frozenset("mwMW@%—…")


def text_width(text: str, size: float = _FONT, bold: bool = False) -> float:
    """Return about how wide a text is in a common sans-serif font, rather too wide than too narrow.

    Examples
    --------
    >>> text_width("ill") < text_width("the") < text_width("mmm")
    True
    """
    units = 0.0
    for letter in text:
        if letter in _NARROW:
            units += 0.33
        elif letter in _WIDE:
            units += 0.92
        elif unicodedata.combining(letter):
            continue
        elif unicodedata.east_asian_width(letter) in "WF":
            units += 1.0
        else:
            units += 0.7 if letter.isupper() else 0.57
    return units * size * (1.08 if bold else 1.0)


def draw(graph: Graph) -> Svg:
    """Return a graph as SVG: in layers from left to right, legible in light and in dark.

    The same graph gives the same text. Nothing outside is needed to make it or to show it.
    """
    if count_crossed_layers(graph) > MOST_CROSSED:
        raise SpaceError(
            f"{graph.title or 'a graph'}: too large to be drawn; a picture is of some hundred "
            "arcs, which lattices.prune leaves of a space"
        )
    return Svg(_Drawing(graph).text())


def count_crossed_layers(graph: Graph) -> int:
    """Return how many layers the arcs of a graph cross together: the cost of a picture of it."""
    layer = _node_layers(graph, _turn(graph))
    return sum(
        abs(layer[target] - layer[arc.source]) for arc in graph.arcs for target in arc.targets
    )


def _turn(graph: Graph) -> list[bool]:
    ends = [(arc.source, arc.targets[0] if arc.targets else arc.source) for arc in graph.arcs]
    return find_turned_arcs(len(graph.nodes), ends)


def _node_layers(graph: Graph, turned: Sequence[bool]) -> list[int]:
    pairs = [
        (target, arc.source) if back else (arc.source, target)
        for arc, back in zip(graph.arcs, turned, strict=True)
        for target in arc.targets
        if target != arc.source
    ]
    return layers(len(graph.nodes), pairs)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class _Drawing:
    """A graph with the places of all that is drawn."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.marked = {arc for arcs in graph.marks.values() for arc in arcs}
        self.turned = _turn(graph)
        self.loops: dict[int, list[int]] = {}
        for number, arc in enumerate(graph.arcs):
            if arc.targets == (arc.source,):
                self.loops.setdefault(arc.source, []).append(number)
        self._place()

    def _place(self) -> None:
        """Lay the parts that hang together out one by one, each below the one before."""
        graph = self.graph
        node_layers = _node_layers(graph, self.turned)
        first_label = len(graph.nodes)
        self.x = [0.0] * (first_label + len(graph.arcs))
        self.y = [0.0] * len(self.x)
        #: the lines of each arc: to its label, then from it; corners are (x, y)
        self.lines: list[list[list[tuple[float, float]]]] = [[] for _ in graph.arcs]
        self.width = self.height = 0.0
        for members in self._parts():
            local = {one: place for place, one in enumerate(members)}
            sizes = [self._size(one) for one in members]
            first = min(node_layers[one] for one in members if one < first_label)
            depth, links, owners = [], [], []
            for one in members:
                if one < first_label:
                    depth.append(2 * (node_layers[one] - first))
                    continue
                number = one - first_label
                arc, back = graph.arcs[number], self.turned[number]
                source, targets = arc.source, arc.targets
                if back:
                    source, targets = targets[0], (source,)
                begin = node_layers[source] - first
                # in the middle of a long arc; beside the head of a hyperedge
                steps = 0 if graph.hyperedges else node_layers[targets[0]] - first - begin - 1
                depth.append(2 * (begin + steps // 2) + 1)
                weight = 4.0 if number in self.marked else 1.0
                links.append((local[source], local[one], weight))
                owners.append(number)
                for target in targets:
                    links.append((local[one], local[target], weight))
                    owners.append(number)
            found = laid_out(sizes, depth, links, across=_ACROSS, between=_BETWEEN)
            self._take(members, found, owners, sizes)

    def _parts(self) -> list[list[int]]:
        """Return nodes and labels of the parts that hang together; labels come after nodes."""
        graph = self.graph
        first_label = len(graph.nodes)
        part = list(range(first_label + len(graph.arcs)))

        def root(one: int) -> int:
            while part[one] != one:
                part[one] = part[part[one]]
                one = part[one]
            return one

        for number, arc in enumerate(graph.arcs):
            for node in (arc.source, *arc.targets):
                one, other = sorted((root(node), root(first_label + number)))
                part[other] = one
        found: dict[int, list[int]] = {}
        for one in range(len(part)):
            is_loop = one >= first_label and self._is_loop(one - first_label)
            if not is_loop:
                found.setdefault(root(one), []).append(one)
        return list(found.values())

    def _is_loop(self, number: int) -> bool:
        arc = self.graph.arcs[number]
        return arc.targets == (arc.source,)

    def _show(self, number: int) -> str:
        label = self.graph.arcs[number].label
        return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"

    def _label_width(self, number: int) -> float:
        arc = self.graph.arcs[number]
        wide = text_width(self._show(number), bold=number in self.marked)
        if arc.value:
            wide += text_width(f" {arc.value}", _SMALL)
        if self.graph.hyperedges:
            wide += _SQUARE + 5
        return wide + 6

    def _node_width(self, node: int) -> float:
        return max(2 * _RADIUS, text_width(self.graph.nodes[node].text, _SMALL) + 8)

    def _size(self, one: int) -> Size:
        first_label = len(self.graph.nodes)
        if one >= first_label:
            return Size(self._label_width(one - first_label), _LINE / 2, _LINE / 2)
        loops = self.loops.get(one, ())
        wide = max((self._label_width(number) + 22 for number in loops), default=0.0)
        above = _RADIUS + (len(loops) * (_LINE + 2) + _LOOP - 4 if loops else 2)
        return Size(max(self._node_width(one), wide), above, _RADIUS + 2)

    def _take(
        self, members: Sequence[int], found: Layout, owners: Sequence[int], sizes: Sequence[Size]
    ) -> None:
        """Take the places of a part over, and the corners of its lines."""
        first_label = len(self.graph.nodes)
        drop = self.height + (_LINE if self.height else 0.0) - found.top
        half = [
            size.width / 2 if one >= first_label else self._node_width(one) / 2
            for one, size in zip(members, sizes, strict=True)
        ]
        middle = []
        for local, one in enumerate(members):
            begin, end = found.left[found.layer[local]], found.right[found.layer[local]]
            # the squares of hyperedges stand one above the other
            is_left = self.graph.hyperedges and one >= first_label
            middle.append(begin + half[local] if is_left else (begin + end) / 2)
            self.x[one], self.y[one] = middle[local], found.y[local] + drop
        for route, number in zip(found.routes, owners, strict=True):
            begin_layer = found.layer[route[0]]
            corners = []
            for place, one in enumerate(route):
                layer, y = begin_layer + place, found.y[one] + drop
                ends = [found.left[layer], found.right[layer]]
                # a thing is entered and left at its own border
                if one < len(members) and place == 0:
                    ends[0] = middle[one] + half[one]
                elif one < len(members):
                    ends[1] = middle[one] - half[one]
                corners += [(x, y) for x in ends]
            self.lines[number].append(corners)
        self.width = max(self.width, found.right[-1])
        self.height = drop + found.bottom

    def text(self) -> str:
        """Return the picture."""
        legend = self._legend_rows()
        left = _MARGIN + (12 if any(node.initial for node in self.graph.nodes) else 0)
        top = _MARGIN + (18 if self.graph.title else 0)
        head = text_width(self.graph.title, _SMALL)
        wide = max(self.width, head, *(row[2] for row in legend), 40.0) + left + _MARGIN
        high = top + self.height + _MARGIN + (6 + _LINE * len(legend) if legend else 0)
        body = [*self._draw_arcs(), *self._draw_nodes()]
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="lattices-picture" role="img" '
            f'aria-label="{escape_text(self.graph.title)}" width="{_number(wide)}" '
            f'height="{_number(high)}" viewBox="0 0 {_number(wide)} {_number(high)}">',
            f"<style>{_STYLE}</style>",
            f'<rect class="ground" width="{_number(wide)}" height="{_number(high)}"/>',
        ]
        if self.graph.title:
            lines.append(
                f'<text class="muted small" x="{_number(_MARGIN)}" y="{_number(_MARGIN + 6)}">'
                f"{escape_text(self.graph.title)}</text>"
            )
        lines.append(f'<g transform="translate({_number(left)} {_number(top)})">')
        lines += body
        lines.append("</g>")
        y = top + self.height + _MARGIN + 4
        for style, name, _ in legend:
            x = _MARGIN
            if style:
                line = f"M{_number(x)} {_number(y)}H{_number(x + 26)}"
                lines.append(f'<path class="mark {style}" d="{line}"/>')
                x += 32
            lines.append(
                f'<text class="muted small" x="{_number(x)}" y="{_number(y + 3)}">'
                f"{escape_text(name)}</text>"
            )
            y += _LINE
        lines.append("</svg>")
        return "\n".join(lines) + "\n"

    def _legend_rows(self) -> list[tuple[str, str, float]]:
        rows = [
            (_MARKS[place % len(_MARKS)], name) for place, name in enumerate(self.graph.marks)
        ] + [("", note) for note in self.graph.notes]
        return [(style, name, 34 + text_width(name, _SMALL)) for style, name in rows]

    def _draw_arcs(self) -> Iterator[str]:
        marks = [
            (_MARKS[place % len(_MARKS)], frozenset(arcs))
            for place, arcs in enumerate(self.graph.marks.values())
        ]
        for number, arc in enumerate(self.graph.arcs):
            title = f"<title>{escape_text(arc.note)}</title>" if arc.note else ""
            yield f'<g class="arc" data-arc="{number}">{title}'
            path = self._path(number)
            mine = [style for style, arcs in marks if number in arcs]
            if arc.weight is None:
                wide = 1.0
            else:
                wide = _THIN + (_THICK - _THIN) * min(1.0, max(0.0, arc.weight))
            if path and (not mine or arc.weight is not None):
                yield f'<path class="line" stroke-width="{wide:.2f}" d="{path}"/>'
            for place, style in enumerate(mine if path else ()):
                # those that share an arc run side by side
                shift = 3.2 * (place - (len(mine) - 1) / 2)
                moved = f' transform="translate(0 {_number(shift)})"' if shift else ""
                yield f'<path class="mark {style}"{moved} d="{path}"/>'
            yield from self._draw_label(number)
            yield "</g>"

    def _draw_label(self, number: int) -> Iterator[str]:
        arc = self.graph.arcs[number]
        x, y = self._label_place(number)
        classes = "marked" if number in self.marked else ""
        if not arc.is_word:
            classes = f"{classes} muted".strip()
        anchor = "middle"
        if self.graph.hyperedges:
            anchor, x = "start", x - self._label_width(number) / 2
            side = _number(_SQUARE)
            yield (
                f'<rect class="node" x="{_number(x)}" y="{_number(y - _SQUARE / 2)}" '
                f'width="{side}" height="{side}"/>'
            )
            x += _SQUARE + 4
        else:
            yield from self._draw_head(number)
        style = f' class="{classes}"' if classes else ""
        shown = escape_text(self._show(number))
        if arc.value:
            shown += f' <tspan class="muted small">{escape_text(arc.value)}</tspan>'
        yield (
            f'<text{style} x="{_number(x)}" y="{_number(y + 4)}" text-anchor="{anchor}" '
            f'unicode-bidi="plaintext">{shown}</text>'
        )

    def _label_place(self, number: int) -> tuple[float, float]:
        if not self._is_loop(number):
            one = len(self.graph.nodes) + number
            return self.x[one], self.y[one]
        node = self.graph.arcs[number].source
        rank = self.loops[node].index(number)
        return self.x[node], self.y[node] - _RADIUS - _LOOP - rank * (_LINE + 2)

    def _path(self, number: int) -> str:
        """Return the line of an arc, with a gap where its label is."""
        if self._is_loop(number):
            return self._loop(number)
        return "".join(_curve(corners) for corners in self.lines[number])

    def _loop(self, number: int) -> str:
        """Return the line of an arc from a node to itself: up, behind the label, and down."""
        node = self.graph.arcs[number].source
        x, y = self.x[node], self.y[node]
        _, high = self._label_place(number)
        wide = self._label_width(number) / 2
        foot, shoulder = 0.7 * _RADIUS, wide + 9
        base = y - 0.72 * _RADIUS
        pieces = []
        for side in (-1, 1):
            ends = [(x + side * foot, base), (x + side * wide, high)]
            over = x + side * shoulder
            bend = f"C{_number(over)} {_number(base - 4)} {_number(over)} {_number(high)}"
            back = f"C{_number(over)} {_number(high)} {_number(over)} {_number(base - 4)}"
            first, last = ends if side < 0 else ends[::-1]
            pieces.append(
                f"M{_number(first[0])} {_number(first[1])}{bend if side < 0 else back} "
                f"{_number(last[0])} {_number(last[1])}"
            )
        return "".join(pieces)

    def _draw_head(self, number: int) -> Iterator[str]:
        """Draw the tip of an arc where it meets its target."""
        arc = self.graph.arcs[number]
        if self._is_loop(number):
            x = self.x[arc.source] + 0.7 * _RADIUS
            y = self.y[arc.source] - 0.72 * _RADIUS
            tip = f"M{_number(x)} {_number(y)}l1.2 -7l4.6 3.6z"
            yield f'<path class="head" d="{tip}"/>'
            return
        for target in arc.targets:
            # an arc that was turned leads back to the left
            side = 1 if self.turned[number] else -1
            x = self.x[target] + side * self._node_width(target) / 2
            tip = f"M{_number(x)} {_number(self.y[target])}l{7 * side} -3.2v6.4z"
            yield f'<path class="head" d="{tip}"/>'

    def _draw_nodes(self) -> Iterator[str]:
        for number, node in enumerate(self.graph.nodes):
            x, y, half = self.x[number], self.y[number], self._node_width(number) / 2
            title = f"<title>{escape_text(node.note)}</title>" if node.note else ""
            yield f'<g class="state" data-node="{number}">{title}'
            if node.initial:
                end = x - half
                yield f'<path class="line" d="M{_number(end - 16)} {_number(y)}h10"/>'
                yield f'<path class="head" d="M{_number(end)} {_number(y)}l-7 -3.2v6.4z"/>'
            for inset in (0, 2.4) if node.final else (0,):
                high = _RADIUS - inset
                yield (
                    f'<rect class="node" x="{_number(x - half + inset)}" y="{_number(y - high)}" '
                    f'width="{_number(2 * (half - inset))}" height="{_number(2 * high)}" '
                    f'rx="{_number(high)}"/>'
                )
            yield (
                f'<text class="small" x="{_number(x)}" y="{_number(y + 3.4)}" '
                f'text-anchor="middle">{escape_text(node.text)}</text></g>'
            )


def _curve(corners: Sequence[tuple[float, float]]) -> str:
    """Return a line through corners: level within a layer, bent between two."""
    x, y = corners[0]
    pieces = [f"M{_number(x)} {_number(y)}"]
    for place, ((x0, y0), (x1, y1)) in enumerate(pairwise(corners)):
        if (x0, y0) == (x1, y1):
            continue
        if place % 2 == 0 or abs(y0 - y1) < 0.05:
            pieces.append(f"L{_number(x1)} {_number(y1)}")
        else:
            bend = _number((x0 + x1) / 2)
            pieces.append(f"C{bend} {_number(y0)} {bend} {_number(y1)} {_number(x1)} {_number(y1)}")
    return "".join(pieces)
