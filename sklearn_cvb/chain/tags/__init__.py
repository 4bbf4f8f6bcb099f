"""Taggers: the tags of words by a dictionary, by labels, and by their forms."""
