"""Scores of slow utilities on disk: what was scored once is never scored again.

One table in an SQLite file, from the hash of a utility's signature and the texts that it was
given to its score. Each look-up and each addition is a transaction of a connection of its own, so
that any number of processes may share a file; one that waits for another does so for minutes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

from lattices.errors import FormatError

#: seconds to wait for another process
_PATIENCE = 300.0
#: keys in one query; SQLite takes at least 999
_KEYS = 900
#: what tells our files from other people's: the first four letters
_MARK = int.from_bytes(b"fstm", "big")

#: a hypothesis, a reference and, where it counts, the source
Texts = tuple[str, ...]


@dataclass(frozen=True)
class ScoreCache:
    """A file of scores; made if it is not there."""

    path: str

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction on the file."""
        try:
            with (
                closing(
                    sqlite3.connect(self.path, _PATIENCE, isolation_level="IMMEDIATE")
                ) as connection,
                connection,
            ):
                (mark,) = connection.execute("PRAGMA application_id").fetchone()
                if mark != _MARK:
                    self._begin(connection)
                yield connection
        except sqlite3.DatabaseError as problem:
            raise FormatError(f"no cache of scores ({problem})", self.path) from problem

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Make the table of a new file; two processes may."""
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name != 'scores'").fetchone():
            raise FormatError("no cache of scores, but a database of others", self.path)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL) WITHOUT ROWID"
        )
        connection.execute(f"PRAGMA application_id = {_MARK}")

    def require(self) -> None:
        """Open or make the file, or say why that cannot be."""
        with self._open():
            pass

    def get(self, signature: str, given: Sequence[Texts]) -> dict[Texts, float]:
        """Return the scores of the texts that are known."""
        keys = {_key(signature, texts): texts for texts in given}
        found: dict[Texts, float] = {}
        rest = iter(keys)
        with self._open() as connection:
            while some := list(islice(rest, _KEYS)):
                marks = ",".join("?" * len(some))
                query = f"SELECT key, score FROM scores WHERE key IN ({marks})"
                found.update((keys[key], score) for key, score in connection.execute(query, some))
        return found

    def add(self, signature: str, scores: dict[Texts, float]) -> None:
        """Remember scores."""
        rows = sorted((_key(signature, texts), score) for texts, score in scores.items())
        with self._open() as connection:
            connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)


def _key(signature: str, texts: Texts) -> bytes:
    """Return what stands for texts: they may be long, and there are many."""
    # lone surrogates, of words that were no UTF-8, are no reason to fail
    parts = [part.encode("utf-8", "surrogatepass") for part in (signature, *texts)]
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()
