"""Reading and writing lattices and n-best lists, whatever the file format.

``read(path)`` finds the format by looking at the content. Formats are plug-ins of the
entry-point group ``lattices.formats``; see :class:`lattices.formats.base.Format` for how to
write one, and :func:`lattices.testing.check_format` for the laws it has to obey.
"""

from __future__ import annotations

from lattices.formats.base import AssembledFormat, Format, IndexedFormat, LossWarning, Record
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

__all__ = [
    "FORMATS",
    "AssembledFormat",
    "Format",
    "FormatInfo",
    "IndexedFormat",
    "LossWarning",
    "Record",
    "format_of",
    "formats",
    "parse_range",
    "parse_record",
    "read",
    "read_records",
    "write",
]
