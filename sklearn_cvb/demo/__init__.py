"""What `python -m sklearn_cvb` is made of: its text, its experiment, its table."""
