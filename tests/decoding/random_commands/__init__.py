"""A randomized test of the whole command line against judges that enumerate.

``spaces`` draws small lattices, forests and lists and enumerates their paths, ``files`` writes and
reads them, ``scores`` has the metrics, ``commands`` draws a command with its files, runs it in
process and judges what it wrote. Nothing here is the library's but the command that is run, and
the formats that a command converts to and back.

``python -m tests.decoding.random_commands --cases 100000`` makes the long run.
"""
