"""Faces to other programs: models to and from JSON and parameters; hmmlearn's names."""
