"""What learning costs beside other libraries and the machine itself: ``python -m benchmarks``."""
