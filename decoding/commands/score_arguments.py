"""Arguments of the commands that score systems: which they are, and how to resample."""

from __future__ import annotations

import argparse

from decoding.commands.arguments import positive

FORMATS = ("table", "tsv", "json", "latex")


def add_systems(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    """Add the files of the systems, and how to read them."""
    parser.add_argument(
        "paths",
        metavar=metavar,
        nargs="*",
        help=f"{what}, or - for standard input; put them first",
    )
    parser.add_argument(
        "--input-format",
        metavar="NAME",
        help="text, trn, ctm, or a format of n-best lists (default: found by the content, "
        "but for ctm)",
    )


def add_table_format(parser: argparse.ArgumentParser, note: str = "") -> None:
    """Add the format of the output."""
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="table",
        help=f"of the output (default: table); latex needs the package booktabs{note}",
    )


def add_resampling(parser: argparse.ArgumentParser, samples: int | None, default: str) -> None:
    """Add how often to resample, with what seed, and for what interval."""
    parser.add_argument(
        "--samples",
        metavar="N",
        type=positive,
        default=samples,
        help=f"how often to resample (default: {default})",
    )
    parser.add_argument(
        "--seed", metavar="S", type=_seed, default=0, help="a whole number from 0 on (default: 0)"
    )
    parser.add_argument(
        "--level",
        metavar="X",
        type=_level,
        default=0.95,
        help="level of confidence intervals (default: 0.95)",
    )


def _seed(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is less than 0")
    return number


def _level(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


# argparse shows these names in its messages
_seed.__name__, _level.__name__ = "whole number", "number"
