"""N-best lists of Moses, cdec, Joshua and SRILM, and in columns."""
