"""Keeps doctests out of the modules that run under atheris, which not everyone has."""

collect_ignore = ["child.py", "__main__.py"]
