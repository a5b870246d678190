"""Confusion networks: slots of alternatives in several notations."""
