"""What pytest leaves alone here: tutorials are run by tests/docs, and the rest makes the site."""

collect_ignore_glob = ["*.py", "make/*", "tutorials/*"]
