"""Drawing of graphs as SVG, and of tables as HTML: what notebooks and pages show."""

from lattices.drawing.graph import Arc, Graph, Node, draw
from lattices.drawing.markup import Html, Svg, cell, escaped, html_table

__all__ = ["Arc", "Graph", "Html", "Node", "Svg", "cell", "draw", "escaped", "html_table"]
