"""All experiments: those of published papers, with our figures beside theirs, and two of our own.

``python -m benchmarks.published --help`` lists them. Each is a module of this folder with

- ``run(settings) -> dict``: every figure with its spread, its seeds and its seconds, fit for JSON;
- ``tables(results) -> str``: reStructuredText, our figures beside the published ones;
- ``draw(results, folder)``: pictures named ``<experiment>_*.png``.

A long experiment has ``PARTS`` as well, functions ``part(settings) -> dict`` by name; then
``run`` is ``run_parts(PARTS, settings)``, and each part can be run alone.

Two studies have command lines of their own: ``python -m benchmarks.published.marginals`` (how close
to the exact posterior) and ``python -m benchmarks.published.coverage`` (how often intervals hold
the truth).
"""
