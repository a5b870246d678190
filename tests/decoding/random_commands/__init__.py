"""A randomized test of the whole command line against judges that enumerate.

``spaces`` draws small lattices, forests and lists and enumerates their paths, ``files`` writes and
reads them, ``scores`` has the metrics; ``trials`` runs a command in process, and the module of each
command draws its options and judges what it wrote. Nothing here is the library's but the command
that is run, and the formats that are converted to and back from.

``python -m tests.decoding.random_commands --cases 100000`` makes the long run.
"""
