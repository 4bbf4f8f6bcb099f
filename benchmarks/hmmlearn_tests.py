"""hmmlearn's own tests, run on this library's face for its users.

``python -m benchmarks.hmmlearn_tests`` collects the tests of the installed package, puts classes
of `sklearn_cvb.hmmlearn` in the place of its own, runs those that use public names alone, counts,
and says of those that do not pass why. ``--own`` runs the same cases on hmmlearn's own classes.
"""

import argparse
import ast
import importlib
import inspect
import os
import textwrap

import pytest

_FILES = ("base", "categorical_hmm", "gaussian_hmm", "poisson_hmm")
_VARIATIONAL = ("variational_categorical", "variational_gaussian")
_CLASSES = {
    "base": ("ConvergenceMonitor",),
    "hmm": ("CategoricalHMM", "GaussianHMM", "PoissonHMM"),
    "vhmm": ("VariationalCategoricalHMM", "VariationalGaussianHMM"),
}
_SEED = "0"
# Why cases do not pass, by what their names hold.
_WHY = {
    "test_underflow_from_scaling[scaling]": "asks for an error where products underflow; here "
    "nothing does",
}


def exchange():
    """Put the classes of the face in the place of hmmlearn's."""
    for module, names in _CLASSES.items():
        theirs = importlib.import_module(f"hmmlearn.{module}")
        ours = importlib.import_module(f"sklearn_cvb.hmmlearn.{module}")
        for name in names:
            setattr(theirs, name, getattr(ours, name))


def uses_private_names(item):
    """Whether a test, or what it calls in its class or module, uses a name with an underscore."""
    waiting, seen = [item.function], set()
    if item.cls is not None:
        waiting += [
            value for name, value in inspect.getmembers(item.cls) if name.startswith("setup")
        ]
    while waiting:
        code = waiting.pop()
        code = inspect.unwrap(getattr(code, "__func__", code))
        code = getattr(code, "_get_wrapped_function", lambda code=code: code)()
        if code in seen or not (inspect.isfunction(code) or inspect.isclass(code)):
            continue
        seen.add(code)
        module = inspect.getmodule(code)
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code)))):
            names = [getattr(node, "attr", "")]
            if isinstance(node, ast.Name) and hasattr(module, node.id):
                names.append(node.id)
                found = getattr(module, node.id)
            else:
                of_self = isinstance(getattr(node, "value", None), ast.Name)
                of_self = of_self and node.value.id in ("self", "cls")
                found = getattr(item.cls, names[0], None) if of_self and names[0] else None
            if inspect.isclass(code) and isinstance(node, ast.FunctionDef):
                names.append(node.name)
            if any(name.startswith("_") and not name.startswith("__") for name in names):
                return True
            where = getattr(inspect.getmodule(found), "__name__", "") if callable(found) else ""
            if where.startswith("hmmlearn.tests"):
                waiting.append(found)
    return False


class Counted:
    """A plugin of pytest that leaves out private tests, and notes how the others end."""

    def __init__(self):
        self.left_out, self.passed, self.failed = [], [], {}

    def pytest_collection_modifyitems(self, config, items):
        self.left_out = [item.nodeid for item in items if uses_private_names(item)]
        items[:] = [item for item in items if item.nodeid not in {*self.left_out}]

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed[report.nodeid] = str(report.longrepr).splitlines()[-1]
        elif report.when == "call":
            self.passed.append(report.nodeid)


def run(own=False):
    """Run the tests on the face, or on hmmlearn's own classes."""
    os.environ["HMMLEARN_SEED"] = _SEED
    import hmmlearn

    if not own:
        exchange()
    folder = os.path.join(os.path.dirname(hmmlearn.__file__), "tests")
    files = [os.path.join(folder, f"test_{name}.py") for name in (*_FILES, *_VARIATIONAL)]
    counted = Counted()
    options = ["-q", "-c", os.devnull, f"--rootdir={folder}", "--no-header", "--no-summary"]
    pytest.main([*options, "-p", "no:cacheprovider", *files], plugins=[counted])
    return counted


def main():
    """Run, count and list."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--own", action="store_true", help="hmmlearn's own classes")
    counted = run(parser.parse_args().own)
    n = len(counted.passed) + len(counted.failed)
    print(f"{len(counted.passed)} of {n} pass ({100 * len(counted.passed) / n:.1f} %)")
    print(f"{len(counted.left_out)} others use names with an underscore, and were left out")
    for name, what in counted.failed.items():
        why = next((text for part, text in _WHY.items() if part in name), what)
        print(f"  {name.rpartition('/')[2]}: {why}")


if __name__ == "__main__":
    main()
