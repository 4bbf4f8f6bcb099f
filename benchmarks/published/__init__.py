"""The experiments of published papers, with our figures beside theirs.

``python -m benchmarks.published --help`` lists them. Each is a module of this folder with

- ``run(settings) -> dict``: every figure with its spread, its seeds and its seconds, fit for JSON;
- ``tables(results) -> str``: reStructuredText, our figures beside the published ones;
- ``draw(results, folder)``: pictures named ``<experiment>_*.png``.

A long experiment has ``PARTS`` as well, functions ``part(settings) -> dict`` by name; then
``run`` is ``run_parts(PARTS, settings)``, and each part can be run alone.
"""
