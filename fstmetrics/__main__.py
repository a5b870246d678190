"""The command ``fstmetrics`` as ``python -m fstmetrics``.

The one module of this package that knows ``decoding``, where commands live: the distribution, the
command and this package have one name, and people type it. Nothing imports it.
"""

from __future__ import annotations

import sys

from decoding.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
