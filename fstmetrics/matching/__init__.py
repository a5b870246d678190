"""Metrics that match words or n-grams one to one: METEOR, GTM, MAXSIM."""
