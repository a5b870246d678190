"""Public names: what packages show, and what they say of names that are elsewhere."""

from __future__ import annotations

from importlib import import_module

import pytest

from lattices.registry import attach


def test_names_that_are_elsewhere_say_where(tmp_path):
    (tmp_path / "__init__.pyi").write_text("from .registry import attach as attach\n")
    find, names, public = attach("lattices", str(tmp_path / "__init__.py"), {"inside": "x.y"})
    assert names() == public == ["attach"]
    assert find("attach") is attach
    with pytest.raises(AttributeError, match=r"lattices\.inside is x\.y\.inside now"):
        find("inside")


def test_packages_show_public_names_alone():
    import lattices.formats.reading  # a module is no public name by being loaded

    package = import_module("lattices")
    assert dir(package) == sorted(package.__all__)
    assert "formats" not in dir(package)
    with pytest.raises(AttributeError, match=r"lattices\.inside is lattices\.algorithms\.inside"):
        _ = lattices.inside
