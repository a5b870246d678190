"""Metrics that match words or phrases: METEOR, GTM, MAXSIM, CDER, RIBES, CharacTER, LeBLEU."""
