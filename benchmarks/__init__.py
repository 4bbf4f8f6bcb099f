"""Speed, beside other libraries and the machine itself: ``python -m benchmarks``.

The experiments are in ``benchmarks/published``.
"""
