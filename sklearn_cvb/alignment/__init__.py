"""Word alignment of sentence pairs, one file an algorithm."""
