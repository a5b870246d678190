"""Ids of segments, each of which counts once."""

from __future__ import annotations

import random

from lattices.formats.ids import SeenIds


def test_ids_are_known_as_in_a_dictionary() -> None:
    """Against a dictionary, over several sizes of the table, with ids that are no good UTF-8."""
    chance = random.Random(5)
    seen, known = SeenIds(), dict[str, str]()
    for number in range(20_000):
        name = chance.choice(["", "\ud800", "é", "utt-"]) + str(chance.randrange(12_000))
        path = f"file{number // 5000}"
        assert (name in seen) == (name in known)
        assert seen.add(name, path, number % 5000) == known.get(name, "")
        known.setdefault(name, f"{path}:{number % 5000}" if number % 5000 else path)
    assert len(seen) == len(known)
