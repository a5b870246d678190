"""The library's own formats and engines, and where each is: known without loading any of them."""

from __future__ import annotations

FORMATS = {
    "jsonl": "lattices.formats.json.lines:FORMAT",
    "openfst-text": "lattices.formats.openfst.text:FORMAT",
    "openfst": "lattices.formats.openfst.binary:FORMAT",
    "htk": "lattices.formats.htk.slf:FORMAT",
    "kaldi": "lattices.formats.kaldi.text:FORMAT",
    "kaldi-binary": "lattices.formats.kaldi.binary:FORMAT",
    "kaldi-scp": "lattices.formats.kaldi.scripts:FORMAT",
    "k2": "lattices.formats.kaldi.k2:FORMAT",
    "mesh": "lattices.formats.confusion.mesh:FORMAT",
    "sausages": "lattices.formats.confusion.sausages:FORMAT",
    "moses-graph": "lattices.formats.moses.search_graph:FORMAT",
    "arrow": "lattices.formats.arrow.ipc:FORMAT",
    "parquet": "lattices.formats.arrow.parquet:FORMAT",
    "plf": "lattices.formats.confusion.plf:FORMAT",
    "sphinx": "lattices.formats.htk.sphinx:FORMAT",
    "moses-nbest": "lattices.formats.lists.moses:FORMAT",
    "nbest-tsv": "lattices.formats.lists.tsv:FORMAT",
    "csv": "lattices.formats.lists.table:CSV",
    "json-rows": "lattices.formats.lists.table:JSON",
    "asr-json": "lattices.formats.lists.recognisers:FORMAT",
    "espnet": "lattices.formats.lists.espnet:FORMAT",
    "fairseq": "lattices.formats.lists.fairseq:FORMAT",
    "srilm-nbest": "lattices.formats.lists.srilm:FORMAT",
    "cdec-forest": "lattices.formats.forests.cdec:FORMAT",
    "hypergraph": "lattices.formats.forests.hypergraph:FORMAT",
    "joshua-forest": "lattices.formats.forests.joshua:FORMAT",
    "travatar": "lattices.formats.forests.travatar:FORMAT",
}

#: the library's formats by suffixes, as far as no two of them have one
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".att": "openfst-text",
    ".fst.txt": "openfst-text",
    ".fsm": "openfst-text",
    ".fst": "openfst",
    ".slf": "htk",
    ".lat": "htk",
    ".htk": "htk",
    ".ark.txt": "kaldi",
    ".lat.txt": "kaldi",
    ".ark": "kaldi-binary",
    ".scp": "kaldi-scp",
    ".k2.txt": "k2",
    ".k2": "k2",
    ".mesh": "mesh",
    ".cn": "mesh",
    ".sau": "sausages",
    ".sau.ark": "sausages",
    ".osg": "moses-graph",
    ".osgx": "moses-graph",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".parquet": "parquet",
    ".plf": "plf",
    ".sphinx": "sphinx",
    ".nbest": "moses-nbest",
    ".100best": "moses-nbest",
    ".kbest": "moses-nbest",
    ".tsv": "nbest-tsv",
    ".csv": "csv",
    ".manifest": "json-rows",
    ".fairseq": "fairseq",
    ".generate.txt": "fairseq",
    ".score": "srilm-nbest",
    ".nbestlist": "srilm-nbest",
    ".hypergraph": "hypergraph",
    ".travatar": "travatar",
}

ENGINES = {
    "kernel": "lattices.intersection.kernel:ENGINE",
    "openfst": "lattices.intersection.openfst:ENGINE",
}

#: formats of sentences that are no formats of spaces
LAYOUTS = ("text", "kaldi", "trn", "ctm", "tsv")
