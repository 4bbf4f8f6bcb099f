"""A plugin of pytest: of all tests that were collected every tenth is run, and some files whole."""

# They need packages that only the environment with the newest versions has.
_WHOLE = (
    "tests/chain/test_summaries.py",
    "tests/metrics/test_convergence.py",
    "tests/reading/test_saved_values.py",
)


def pytest_collection_modifyitems(config, items):
    kept = [item for i, item in enumerate(items) if item.nodeid.startswith(_WHOLE) or i % 10 == 0]
    config.hook.pytest_deselected(items=list(set(items).difference(kept)))
    items[:] = kept
