"""Faces to other programs: models as text, and made of parameters; what hmmlearn calls things."""
