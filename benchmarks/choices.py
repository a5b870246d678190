"""What could be chosen, on real spaces: writes ``docs/experiments/choices.md``.

Run as ``python -m benchmarks.choices``: ``fstmetrics choices`` on each of three corpora.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.data import DATA, MULTI30K
from benchmarks.pages import FOLDER, write_page
from decoding.cli.main import main

METRICS = "wer wrr grr bleu bleu-sbp tbleu bleu:unit=char per"
#: each with the options that only it has
CORPORA = {
    "d50": (MULTI30K["d50"], ""),
    "d200": (MULTI30K["d200"], "--budget 10000"),
    "hiero": ("multi30k-deen/hiero150.de-en.forest.d50.jsonl.gz", "--budget 10000"),
}

TEXT = """# What could be chosen

Written by `python -m benchmarks.choices`. A row is a way to choose a sentence of every segment, a
column what the corpus of these sentences scores. A star marks a score that is not proven to be the
best of its kind. Model scores are those of a phrase-based decoder and of a Hiero decoder with a
scale of 10 for MBR, German to English, one reference.

What there is to see:

- the whole lattice has far better sentences than the 100 best, under every metric;
- the oracle under one metric is not that under another: under WER, 4-GRR's oracle is about as good
  as WER's own, while BLEU's gives some of it away;
- the sentences that are best one by one do not make the best corpus under BLEU and its kin;
- tBLEU with its default threshold is BLEU on these sentences, and WRR is WER.
"""
PART = """
## {name}

```bash
{line}
```

{table}
"""


def write() -> None:
    """Run the command on every corpus that is there, and write the page."""
    parts = [TEXT]
    with tempfile.TemporaryDirectory() as folder:
        for name, (path, options) in CORPORA.items():
            out = Path(folder, name)
            argv = f"--metric {METRICS} --scale 10 {options}".split()
            more = ["--plot", str(FOLDER / "choices.svg")] if name == "d50" else []
            code = main(
                ["choices", str(DATA / path), *argv, *more, "--workers", "2",
                 "--format", "markdown", "-o", str(out)]
            )  # fmt: skip
            if code:
                raise SystemExit(code)
            line = f"fstmetrics choices {Path(path).name} {' '.join(argv)} --format markdown"
            parts.append(PART.format(name=name, line=line, table=out.read_text("utf-8").strip()))
    parts.append("\n![The same scores of d50, drawn](choices.svg)\n")
    write_page("choices.md", "".join(parts))


if __name__ == "__main__":
    write()
