"""Alignment metrics: WER, WRR, CER and GRR."""
