"""Reading and writing lattices and n-best lists, whatever the file format.

``read(path)`` finds the format by looking at the content. Formats are plug-ins of the
entry-point group ``lattices.formats``; see :class:`lattices.formats.base.Format` for how to
write one, and :func:`lattices.testing.check_format` for the laws it has to obey. What a format of
one's own needs is here, too: bases, records, losses, and functions for lines, words and numbers.
"""

from __future__ import annotations

from lattices.formats.base import (
    BLANKS,
    AssembledFormat,
    Format,
    IndexedFormat,
    LossWarning,
    Record,
    Unsupported,
    cut_lines,
    decode_lines,
    group_lines,
    join_words,
    note_losses,
    require_kind,
    split_words,
    text_lines,
    whole_file,
)
from lattices.formats.fields import finite_number, is_whole
from lattices.formats.reading import (
    FORMATS,
    FormatInfo,
    format_of,
    formats,
    parse_range,
    parse_record,
    read,
    read_records,
)
from lattices.formats.writing import write
from lattices.options import Option

__all__ = [
    "BLANKS",
    "FORMATS",
    "AssembledFormat",
    "Format",
    "FormatInfo",
    "IndexedFormat",
    "LossWarning",
    "Option",
    "Record",
    "Unsupported",
    "cut_lines",
    "decode_lines",
    "finite_number",
    "format_of",
    "formats",
    "group_lines",
    "is_whole",
    "join_words",
    "note_losses",
    "parse_range",
    "parse_record",
    "read",
    "read_records",
    "require_kind",
    "split_words",
    "text_lines",
    "whole_file",
    "write",
]
