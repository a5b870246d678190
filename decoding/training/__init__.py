"""Discriminative training: weights under which a decoder says what the metric likes."""
