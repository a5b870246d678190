"""Minimum risk and training over lattices and forests."""
