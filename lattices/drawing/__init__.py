"""Drawing of graphs as SVG, and of tables as HTML: what notebooks and pages show."""

from lattices.drawing.graph import Arc, Graph, Node, draw
from lattices.drawing.markup import Html, Svg, cell, escape_text, html_table

__all__ = ["Arc", "Graph", "Html", "Node", "Svg", "cell", "draw", "escape_text", "html_table"]
