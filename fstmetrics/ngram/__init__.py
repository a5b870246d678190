"""N-gram metrics: the BLEU family, and PER."""
