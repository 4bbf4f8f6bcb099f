"""Word alignment of sentence pairs."""
