"""Shares of edges, under the name that n-gram posteriors of forests know."""

from __future__ import annotations

from lattices.algorithms.inside_outside import edge_shares as edge_shares
