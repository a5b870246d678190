"""An extension of griffe: docstrings have Sphinx's roles, and the reference is Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`~?\.?([\w.]+)`")
#: a link where the reference has such a heading, else the name alone
_LINK = r'<autoref identifier="\1" optional><code>\1</code></autoref>'


class Roles(griffe.Extension):
    """Makes links of roles."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(_LINK, obj.docstring.value)
