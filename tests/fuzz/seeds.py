"""Small good files of every target, and the tokens that a fuzzer would be long in guessing."""

from __future__ import annotations

import io
import os
import re
import tempfile
from pathlib import Path

from lattices.errors import FormatError
from lattices.formats import FORMATS
from lattices.formats.base import Format, Unsupported
from lattices.spaces import Lattice, Space
from lattices.testing import sample_forests, sample_lattices, sample_nbests
from lattices.vocabulary import Vocabulary
from tests.fuzz.targets import SYMBOLS
from tests.lattices.formats import bad_forests, bad_lists, bad_pages

#: by hand: what cannot be written, and the dialects that our writers do not use
SAMPLES: dict[str, tuple[str, ...]] = {
    **{
        name: (text,)
        for each in (bad_forests, bad_lists, bad_pages)
        for name, text in each.TEXTS.items()
    },
    "htk": (
        "VERSION=1.0\nlmscale=9.5 wdpenalty=-1.5 base=10\nUTTERANCE=utt-1\nstart=0 end=2\n"
        "N=3 L=3\nI=0 t=0.00\nI=1 t=0.25 W=a v=1\nI=2 t=0.5 W=!NULL\n"
        "J=0 S=0 E=1 W=a v=1 a=-1.5 l=-0.5\nJ=1 S=0 E=1 W='b' a=-2e1 l=-1 r=0.5\n"
        'J=2 S=1 E=2 W="c\\101" a=-1 l=-2 p=0.5\n',
        "VERSION=1.1\nbase=2\nN=3 L=2\nI=0 t=0\nI=1 t=.5\nI=2 t=1\n"
        "J=0\tS=0\tE=1\tW=\\040x\ta=0\tp=0.7 d=:a,1,-1:b,1:\nJ=1 S=1 E=2 W=</s> p=1 x1=2 ds=1\n",
        "UTTERANCE=0\nVERSION=1.0\nlmscale=1\nN=3 L=2\nI=0\nI=1\nI=2\n"
        "J=0 S=0 E=1 W=a a=0 l=-1 r=0\nJ=1 S=1 E=2 W=b\n",
    ),
    "jsonl": (
        '{"id": "1", "src": "x", "refs": ["the cat"], "states": 3, "start": 0, "finals": {"2": '
        '[0.0, {"lm": -1.0}]}, "times": [0.0, 0.2, 0.5], "arcs": [[0, 1, "the", -0.5, {"lm": '
        '-1.0}], [1, 2, "cat\\u00e9", -1.5e0, {"lm": -3}]], "kept": [null, true]}\n',
        '{"id": "2", "refs": [{"arcs": [[0, 1, "a"]], "finals": {"1": 0}, "states": 2}], "nbest": '
        '[{"words": "the cat", "score": -2.0, "features": {"lm": -4.0}}, {"words": ["a b"]}]}\n',
    ),
    "k2": (
        "0 1 1 [ ] -0.5\n0 1 2 [ 3 4 ] 0.25\n1 2 -1 [ -1 ] 0\n2\n",
        "k2.Fsa: 0 1 1 -0.5\n0 1 2 -inf\n1 2 -1 1e-3\n2\nproperties_str = \"Valid|Nonempty\".\n",
    ),
    "kaldi": (
        "utt-1 \n0\t1\tthe\t1.5,2.5,3_4_4\n0 1 a -1,0,\n1 2 <eps>\n2 0.5,0.25,7\n\n"
        "utt-2 \n0\n\n",
        "utt-1 \n0\t1\t3\tthe\t1.5,-2.5\n0 1 0 a 1e-3,-0\n1 2 4 <eps>\n2 0.5,0.25\n\n",
    ),
    "mesh": (
        "name utt-1\nnumaligns 2\nposterior 1\nalign 0 the 0.75 *DELETE* 0.25\nreference 0 the\n"
        "time 0 0.5\nhyps 0 the 0 1\ninfo 0 the 0.5 0.25 -1 -2 x 1:2\nalign 1 cat 1 mat 0\n"
        "reference 1 cat\nposterior 1 1\ntransposterior 0 1\n## x\n\nname b\nnumaligns 0\n",
    ),
    "moses-graph": (
        "0 hyp=0 stack=0\n"
        "0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=2 fscore=-2 covered=0-0 out=a b \n"
        "0 hyp=2 stack=2 back=1 score=-2 transition=-1 forward=-1 fscore=0 covered=1-1 out=c\n"
        "0 hyp=3 stack=2 back=1 score=-3 transition=-2 recombined=2 forward=-1 fscore=0 "
        "covered=1-1 out=\n1 hyp=0 stack=0\n",
        "0 hyp=0 stack=0 forward=1 fscore=0\n"
        "0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=-1 fscore=-2 covered=0-0 "
        'scores="core=(-2,0,-1.5) PP_a~b=1" out="ein Haus|a house"\n',
        "0 hyp=0 stack=0\n"
        "0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=-1 fscore=-2 covered=0-0 "
        "scores=[ d: 0 -1 lm: -16.1 ] out=ein Haus|a house , pC=-0.4, c=-0.9\n",
    ),
    "moses-nbest": (
        "0 ||| the cat ||| lm: -1 -2 tm: 0.5 ||| -3.5 ||| 0-0 1-1\n0 ||| a ||| lm= -1 ||| -4\n"
        "1 |||  ||| lm=-1 tm_0=2 ||| 0\n",
        "0 ||| the cat ||| -1 -2 0.5 ||| -3.5\n",
    ),
    "nbest-tsv": ("utt-1\t1\t-0.5\tthe cat\nutt-1\t2\t-1\t\nutt-2\t1\t0\ta\n",),
    "openfst-text": (
        "0\t1\tthe\t0.5\n0 1 a\n1\t2\t<eps>\tInfinity\n1 2 cat 1e-3\n2\t0.25\n1\n",
        "0 1 1 2 0.5\n1 2 3 4\n2\n",
    ),
    "plf": (
        "((('the',-0.5,1),('a',-1,2),),(('cat\\'s',1e-3,1),),)\n()\n",
        '<seg id="x&quot;">((("a",{\'lm\': -1, \'tm\':2},1),),(("*EPS*",0.5,0.25,x=1,1),))</seg>\n',
    ),
    "sausages": (
        "utt-1 [ 1 0.75 0 0.25 ] [ 2 1 ]\nutt-2 [ the 0.5 <eps> 0.5 3 0 ]\n",
        "utt-1 \0B\4\1\0\0\0\4\2\0\0\0\4\1\0\0\0\4\0\0\0\x3f\4\0\0\0\0\4\0\0\0\x3f",
    ),
    "sphinx": (
        "# getcwd: /tmp\n# -logbase 1.0001\nFrames 30\nNodes 4 (NODEID WORD STARTFRAME)\n"
        "0 <s> 0 0 1\n1 the 2 5 6\n2 cat(2) 7 8 9\n3 </s> 20 29 29\nInitial 0\nFinal 3\n"
        "BestSegAscr 0 (NODEID ENDFRAME ASCORE)\nEdges (FROM-NODEID TO-NODEID ASCORE)\n"
        "0 1 -1000\n1 2 -20\n1 3 -5\n2 3 0\nEnd\n",
    ),
    "srilm-nbest": (
        "NBestList1.0\n(-1000) the cat\n(-1200) a cat -pau-\n",
        "NBestList2.0\n(-100) <s> ( st: 0 et: 0.1 g: 0 a: -5 ) the ( st: 0.1 et: 0.5 g: -2 a: -9 ) "
        "ah-1 ( st: 0.1 et: 0.2 g: 0 a: 0 ) </s> ( st: 1 et: 1 g: -1 a: -1 )\n",
        "-10.5 -2.25 3 <s> the cat </s>\n-11 -2 1 a\n",
    ),
    "references": (
        "a the cat\nutt-1\n0 a\n",
        "the { um / uh { x / @ } / @ } cat (so) (a)\nyes (spk-utt-1)\n;; x\nno (0)\n",
        ";; comment\na 1 0.5 0.25 the 0.9\na 1 <ALT_BEGIN>\na 1 * * <ALT> um\na 1 0.75 0.1 x\n"
        "a 1 1.0 0.1 <ALT>\na 1 1.0 0.1 @\na 1 1.1 0 <ALT_END>\n0 1 0 1 y\n",
        ';; LABEL "o" "all" "x"\na 1 spk 0.5 1.5 <o,f0> the { a / b } cat\n'
        "utt-1 A x 0 1 IGNORE_TIME_SEGMENT_IN_SCORING\n0 1 s 2.25 3 hm (uh)\n",
    ),
    "symbols": (SYMBOLS,),
}  # fmt: skip

NUMBERS = (
    "0", "1", "-1", "2147483647", "2147483648", "99999999999999999999", "1e400", "-1e309", "1e-400",
    "nan", "inf", "-inf", "Infinity", "1_0", "٣", "0x1", ".5", "5.", "+1",
)  # fmt: skip
BREAKS = ("\r\n", "\n\n", "\t", "\v", "\u00a0", "\u2028", "\ufeff", "\0", "'", '"', "\\", "<eps>")
TOKEN = re.compile(r"[A-Za-z_!<>*-][\w<>!*:./-]*[=:]?|[^\w\s]")


def seeds(name: str) -> list[bytes]:
    """Return good files of a target."""
    found = [text.encode("latin-1" if "\0" in text else "utf-8") for text in SAMPLES.get(name, ())]
    if name not in FORMATS.names():
        return found
    fmt = FORMATS.get(name)
    samples = _samples(fmt)
    if fmt.writable:
        groups = [[space] for space in samples] + ([] if fmt.single else [samples])
        for group in groups:
            found += _written(fmt, group)
    return found


def tokens(name: str) -> list[str]:
    """Return what a fuzzer may put into files of a target."""
    words = {token for text in SAMPLES.get(name, ()) for token in TOKEN.findall(text)}
    return sorted({*words, *NUMBERS, *BREAKS})


def _samples(fmt: Format) -> list[Space]:
    full = Lattice.from_arcs(
        [(0, 1, "the", -0.5, {"lm": -1.0}), (0, 2, "cat", -2.0, {"tm": 1.0}), (1, 2, "", -0.25)],
        {2: -0.125},
        final_features={2: {"lm": 0.5}},
        vocabulary=Vocabulary(),
        times=[0.0, 0.5, 0.75],
        id="full",
        source="x",
        references=("the cat",),
        metadata={"key": [1, "a"]},
    )
    slots = Lattice.from_arcs(
        [(0, 1, "the", -0.25), (0, 1, "", -1.5), (1, 2, "cat", 0.0)], [2], id="slots"
    )
    samples: list[Space] = []
    if fmt.kind in ("lattice", "any"):
        samples += [*sample_lattices(), full, slots]
    if fmt.kind in ("nbest", "any"):
        samples += [space.replaced(id=f"n-{space.id}") for space in sample_nbests()]
    if fmt.kind in ("forest", "any"):
        samples += [space.replaced(id=f"f-{space.id}") for space in sample_forests()]
    return samples


def _written(fmt: Format, spaces: list[Space]) -> list[bytes]:
    found = []
    for options in _variants(fmt):
        buffer = io.BytesIO()
        try:
            fmt.write(buffer, spaces, Unsupported(fmt.name, allowed=True), **options)
        except FormatError:
            # not every format can hold every lattice
            continue
        found.append(buffer.getvalue())
    return found


def _variants(fmt: Format) -> list[dict[str, str]]:
    """Return the options under which a writer makes different files."""
    folder = tempfile.mkdtemp(prefix="seeds-")
    table = os.path.join(folder, "words.txt")
    if fmt.name == "kaldi-scp":
        return [
            {"ark": os.path.join(folder, f"{binary}.ark"), "binary": binary}
            for binary in ("true", "false")
        ]
    known = {
        "openfst": [{"arc_type": name} for name in ("standard", "log", "log64")],
        "kaldi": [{"type": "compact"}, {"type": "lattice"}],
        "kaldi-binary": [
            {"arc_type": name} for name in ("lattice4", "compactlattice44", "lattice8")
        ],
        "plf": [{"scores": "log"}, {"scores": "probability"}],
        "sausages": [{}, {"symbols": table}, {"symbols": table, "binary": "true"}],
        "openfst-text": [{}, {"symbols": table}, {"acceptor": "no"}],
    }
    return known.get(fmt.name, [{}])


def write_inputs(folder: Path, files: list[bytes], words: list[str]) -> int:
    """Put files into a folder, and a dictionary beside it; return the size of the largest."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(files):
        (folder / f"seed-{number}").write_bytes(data)
    lines = [
        '"' + "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8")) + '"\n' for word in words
    ]
    folder.with_suffix(".dict").write_text("".join(lines), encoding="ascii")
    return max(map(len, files))
