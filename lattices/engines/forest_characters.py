"""Forests of characters, under the name that searches of forests know."""

from __future__ import annotations

from lattices.algorithms.characters import forest_to_characters as forest_to_characters
