"""Commands that choose sentences: oracles, minimum risk, rescoring."""
