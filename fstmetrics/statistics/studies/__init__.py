"""Studies of metrics on outputs of systems: each is a function that returns records.

===========================================================  =======================================
:mod:`~fstmetrics.statistics.studies.sweeps`                 values of one option, or of two
:mod:`~fstmetrics.statistics.studies.characters`             BLEU in characters and in words
:mod:`~fstmetrics.statistics.studies.genres`                 better on each genre, worse on all
:mod:`~fstmetrics.statistics.studies.silence`                systems that say nothing for some
:mod:`~fstmetrics.statistics.studies.ranks`                  systems by metrics and by people
:mod:`~fstmetrics.statistics.studies.disagreements`          segments on which two metrics disagree
===========================================================  =======================================

Word deletion, which trains, is :mod:`decoding.word_deletion`.
"""
