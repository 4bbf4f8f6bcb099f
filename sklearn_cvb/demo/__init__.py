"""The demo, `python -m sklearn_cvb`: its text, its experiment, its table."""
