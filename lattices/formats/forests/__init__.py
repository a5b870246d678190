"""Forests of cdec, Joshua, Moses and Travatar."""
