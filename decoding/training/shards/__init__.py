"""Training corpora in shards: segments stay where they were read, weights go out."""
