"""What a first fit compiles: the kernels of the engines that the data need, and nothing else."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

# Functions that each fit may compile, one after the other in a process with nothing compiled.
MOST = {
    "dictionary": 5,
    "dictionary again": 0,
    "labels and missing words": 0,
    "no dictionary": 9,
    "one sequence": 8,
    "transitions": 0,
    "variational Bayes": 7,
    "learned concentrations": 0,
    "beyond float64": 8,
    "likelihood": 1,
    "posteriors": 2,
}
RUNS, SIDE, SEQUENCES = "expected_counts_of_runs", "expected_counts_dense", "expected_counts"


def fits():
    """The fits, in that order."""
    import numpy as np

    from sklearn_cvb import EMHMM, EMHMMTagger, VBHMMTagger

    legal = {"the": ["D"], "dog": ["N"], "duck": ["N", "V"], "runs": ["V", "N"], "it": ["P", "D"]}
    X = [["the", "duck", "runs"], ["it", "runs", "the", "dog"], ["the", "dog", "runs", "it"]] * 3
    missing = [[None, *words] for words in X]
    y = [["D", *[None] * len(words)] for words in X]
    symbols = [np.random.default_rng(0).integers(3, size=9).tolist() for _ in range(4)]
    settings = {"max_iter": 3, "tol": 0, "random_state": 0}
    yield EMHMMTagger(legal, **settings).fit(X).predict, X
    yield EMHMMTagger(legal, **settings).fit(X[:4]).predict, X
    yield EMHMMTagger(legal, **settings).fit(missing, y).predict, X
    yield EMHMM(3, **settings).fit(symbols).predict, symbols
    yield EMHMM(3, **settings).fit([np.concatenate(symbols).tolist()]).predict, symbols
    yield EMHMM(3, transitions="left-right", **settings).fit(symbols).predict, symbols
    yield VBHMMTagger(legal, **settings).fit(X).predict, X
    learned = VBHMMTagger(legal, alpha="auto", beta="auto", **settings | {"max_iter": 25})
    yield learned.fit(X).predict, X
    yield _faint_expectation, symbols
    yield EMHMM(3, **settings).fit(symbols).score, symbols
    yield EMHMM(3, **settings).fit(symbols).predict_proba, symbols


def _faint_expectation(X):
    """An E-step in which one symbol is all but impossible."""
    from sklearn_cvb import EMHMM
    from sklearn_cvb.chain.parameters.rows import uniform_weights
    from sklearn_cvb.chain.symbols.engines import engines_of, expectation

    problem = EMHMM(3)._read(X, None).problem
    weights = uniform_weights(problem.cells)
    weights.emission[:3] = 1e-300
    expectation(weights, problem, engines_of(problem))


def compiled():
    """Names of the package's functions that each fit compiles."""
    from numba.core import event

    class Names(event.Listener):
        def __init__(self):
            self.found = []

        def on_start(self, event):
            function = event.data["dispatcher"].py_func
            if function.__module__.startswith("sklearn_cvb"):
                self.found.append(f"{function.__module__}.{function.__name__}")

        def on_end(self, event):
            pass

    names, found = Names(), []
    event.register("numba:compile", names)
    for read, X in fits():
        read(X)
        found.append(names.found.copy())
        names.found.clear()
    return dict(zip(MOST, found, strict=True))


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """What a process with an empty cache says."""
    folder = str(tmp_path_factory.mktemp("cache"))
    done = subprocess.run(
        [sys.executable, __file__],
        capture_output=True,
        text=True,
        check=False,
        # What is compiled, not how well: without optimization it is compiled sooner.
        env=os.environ | {"NUMBA_CACHE_DIR": folder, "NUMBA_OPT": "0"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", MOST)
def test_a_fit_compiles_few_functions(reports, name):
    assert len(reports[name]) <= MOST[name], reports[name]


def test_each_form_is_compiled_when_data_need_it(reports):
    kernels = {name: {full.rsplit(".")[-1] for full in found} for name, found in reports.items()}
    engines = {name: found & {RUNS, SIDE, SEQUENCES} for name, found in kernels.items()}
    assert engines["dictionary"] == {RUNS}
    assert engines["no dictionary"] == {SIDE}
    assert engines["one sequence"] == {SEQUENCES}
    assert sum(map(len, engines.values())) == 3


def test_log_space_is_compiled_when_float64_loses_a_sequence(reports):
    in_log = {name for name, found in reports.items() if any("log_space" in one for one in found)}
    assert in_log == {"beyond float64"}


if __name__ == "__main__":
    print(json.dumps(compiled()))
