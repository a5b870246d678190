"""HTK's lattices (SLF), as many tools write them, and PocketSphinx's own."""
