"""The dependency model with valence."""
