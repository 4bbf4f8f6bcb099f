"""What X and y hold, as values."""
