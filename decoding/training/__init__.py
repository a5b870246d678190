"""Discriminative training: weights under which a decoder says what the metric likes.

:mod:`~decoding.training.learner` is what all learners share, and
:func:`decoding.training.learners.learner` finds one by name: ``mert``, ``mira``, ``perceptron``,
``pro``, ``risk`` and ``softmax-margin``. For a loop of one's own there are
:mod:`~decoding.training.hope_fear`, :mod:`~decoding.training.envelope` and
:mod:`~decoding.training.risk.expected`; for a decoder that decodes again,
:class:`decoding.training.loop.DecoderLoop`.
"""
