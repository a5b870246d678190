"""The normal form of lattices: what the native check says of one."""

from __future__ import annotations

from lattices._native import normal_form as normal_form

#: in normal form, or so but for the order of arcs; states are in no topological order; or
#: something is wrong, which it takes a second look to name
NORMAL, UNSORTED, UNORDERED, WRONG = 0, 1, 2, 3
