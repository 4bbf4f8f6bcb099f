"""A plugin of pytest: of all tests that were collected every tenth is run."""


def pytest_collection_modifyitems(config, items):
    left_out = [item for i, item in enumerate(items) if i % 10]
    config.hook.pytest_deselected(items=left_out)
    items[:] = items[::10]
