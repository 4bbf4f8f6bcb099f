"""What a first fit by sampling, or token by token, compiles: the kernels that the data need."""

import sys

import pytest
from forks import calls_to, serve

from sklearn_cvb import Transitions

pytestmark = pytest.mark.process

CASES = {
    "gibbs": ("GibbsHMM", {}, True),
    "gibbs open": ("GibbsHMM", {}, False),
    "sequence": ("GibbsHMM", {"update": "sequence"}, True),
    "parameter": ("GibbsHMM", {"update": "parameter"}, True),
    "token": ("CVBHMM", {"update": "token"}, True),
    "token open": ("CVBHMM", {"update": "token"}, False),
    "learned": ("CVBHMM", {"alpha": "auto", "max_iter": 22, "tol": 0.0}, False),
    "shared": ("CVBHMM", {"transitions": Transitions(prior="hdp")}, False),
}
# Kernels that Python calls, of the files that are about these algorithms.
EXPECTED = {
    "gibbs": {"gibbs.draw_tokens", "gibbs.resample_tokens"},
    "gibbs open": {"gibbs.draw_stretches", "gibbs.resample_tokens"},
    "sequence": {"gibbs.draw_tokens", "gibbs.resample_sequences"},
    "parameter": {"gibbs.draw_tokens", "gibbs.draw_stretches"},
    "token": {
        "leave_token_out.sweep_tokens",
        "leave_token_out.count_tokens",
        "leave_token_out.score_sequences",
    },
    "token open": {
        "leave_token_out.sweep_tokens",
        "leave_token_out.count_tokens",
        "leave_token_out.score_sequences",
    },
    "learned": {"leave_out.pass_over_sequences", "absence.absence_of_units"},
    "shared": {"leave_out.pass_over_sequences"},
}
FILES = ("gibbs", "leave_token_out", "leave_out", "absence")


def _used(name):
    """How often each kernel that is kept on disk was compiled or loaded by one fit."""
    from numba.core.registry import CPUDispatcher

    import sklearn_cvb

    algorithm, settings, with_dictionary = CASES[name]
    X = [["a", "b", "a", "c"], ["b", "c", "a"], ["c", "a"]]
    legal = {"a": ["N"], "b": ["N", "V"], "c": ["A", "N", "V"]}
    if with_dictionary:
        model = getattr(sklearn_cvb, f"{algorithm}Tagger")(legal, max_iter=3, **settings)
    else:
        model = getattr(sklearn_cvb, algorithm)(n_components=2, **{"max_iter": 3} | settings)
    model.fit(X)
    found = {}
    for module in [module for name, module in sys.modules.items() if "kernels.chain" in name]:
        for value in vars(module).values():
            if isinstance(value, CPUDispatcher) and value.signatures:
                is_cached = type(value._cache).__name__ == "FunctionCache"
                if is_cached and sum(value.stats.cache_misses.values()) + sum(
                    value.stats.cache_hits.values()
                ):
                    found[f"{value.__module__.split('.')[-1]}.{value.__name__}"] = len(
                        value.signatures
                    )
    return found


@pytest.fixture(scope="module")
def used_by():
    """What `_used` finds in a process of its own."""
    with calls_to(__file__) as in_a_process:
        yield in_a_process


@pytest.mark.parametrize("name", CASES)
def test_a_first_fit_compiles_what_it_needs(used_by, name):
    used = used_by(name)
    own = {kernel for kernel in used if kernel.split(".")[0] in FILES}
    # Parts that other kernels call may be loaded on the way; Python calls these and no others.
    assert own - {"gibbs.accept_or_reject"} == EXPECTED[name]
    assert not [kernel for kernel in used if "log" in kernel.split(".")[0]]
    assert set(used.values()) == {1}


if __name__ == "__main__":
    import sklearn_cvb  # noqa: F401

    serve(_used)
