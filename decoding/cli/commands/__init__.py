"""The subcommands of ``fstmetrics``, one module each.

A module has ``SUMMARY`` (one line for the list), ``DESCRIPTION`` and ``EXAMPLES`` (for its
help), ``add_arguments(parser)`` and ``run(arguments)``, which returns the exit code. It imports
nothing heavy before it runs.
"""
