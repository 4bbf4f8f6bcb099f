"""All experiments: those of published papers, with our figures beside theirs, and our own.

``python -m benchmarks.published --list`` lists them, as `catalogue` has them. Each is a module of
this folder with

- ``run(settings) -> dict``: every figure with its spread, its seeds and its seconds, fit for JSON;
  or ``PARTS``, such functions by name, each of which can be run alone;
- ``tables(results) -> dict``: a `Table` for each name, our figures beside the published ones;
- ``draw(results, folder)``: pictures named ``<experiment>_*.png``.

A new one has an entry in `catalogue`, and its cheapest cells in `cells`, for a test to find again.
"""
