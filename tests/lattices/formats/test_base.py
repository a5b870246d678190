"""Records of lines."""

from __future__ import annotations

import io

from lattices.formats.base import group_lines


def test_grouped_lines_keep_their_places() -> None:
    def key(line: bytes) -> bytes | None:
        return line[:1] if b"|" in line else None

    def cut(text: bytes) -> list[tuple[bytes, int, int]]:
        return [
            (record.payload, record.line, record.number)
            for record in group_lines(io.BytesIO(text), "p", key)
        ]

    assert cut(b"\n\na|1\r\n\na|2\nb|1\nbad\n\nb|2") == [
        (b"a|1\n\na|2", 3, 0),
        (b"b|1\nbad\n\nb|2", 6, 1),
    ]
    # a bad line at the very top has nothing before it to belong to
    assert cut(b"bad\na|1\nb|1") == [(b"bad\na|1", 1, 0), (b"b|1", 3, 1)]
    assert cut(b"") == []
