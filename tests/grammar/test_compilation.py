"""Kernels of grammars are compiled when a fit needs them, once, and nothing else is."""

import warnings

import pytest
from estimators import all_sweeps
from forks import calls_to, serve

pytestmark = pytest.mark.process

GIVEN = "S -> A S | 'a' | 'b' A\nA -> S | 'b' | 'a' 'b'"
CYCLES = "S -> A | A S\nA -> A B | B | 'a'\nB -> A | 'b' | 'a' A 'b'"
X = [list("aba"), list("ab"), list("a")]
# Kernels that Python calls, by what they are for.
LISTING, FOREST = "forests._add_sentences", "forests.expected_counts_by_forest"
BEST_IN_FOREST, BEST = "forests.best_trees_by_forest", "decoding._best_trees"
LISTS, TABLES = "lists.expected_counts_by_lists", "tables.expected_counts_by_tables"
SWEEPS = {"CVBPCFG": "leave_out.leave_out", "HastingsPCFG": "draws.draw_trees"}
SWEEPS["GibbsPCFG"] = SWEEPS["HastingsPCFG"]


def _compiled_by_each(steps):
    """Names of the kernels that each step of a program compiles or loads; was anything compiled?"""
    from kernels.test_compilation import dispatchers, is_cached

    import sklearn_cvb

    warnings.simplefilter("ignore")
    kernels = {
        name.removeprefix("sklearn_cvb.kernels.tree."): kernel
        for name, kernel in dispatchers().items()
        if ".kernels.tree." in name and is_cached(kernel)
    }
    known, found = dict.fromkeys(kernels, 0), []
    for name, keywords, max_iter in steps:
        kind = getattr(sklearn_cvb, name)
        settings = {"random_state": 0, "max_iter": max_iter} | all_sweeps(kind) | keywords
        model = kind(**settings).fit(X)
        model.predict(X[:1])
        now = {key: len(kernel.signatures) for key, kernel in kernels.items()}
        found.append(sorted(key for key in now if now[key] > known[key]))
        known = now
    return found, any(sum(kernel.stats.cache_misses.values()) for kernel in kernels.values())


@pytest.fixture(scope="module")
def compiled():
    """The names that `_compiled_by_each` finds in a process of its own, with all of them on disk.

    Where one is compiled, those that it calls are compiled with it and would count as well.
    """
    with calls_to(__file__) as in_a_process:

        def found(*steps):
            names, anew = in_a_process(steps)
            return in_a_process(steps)[0] if anew else names

        yield found


@pytest.mark.parametrize("name", ["EMPCFG", "VBPCFG", "CVBPCFG", "HastingsPCFG", "GibbsPCFG"])
def test_a_fit_compiles_its_own_form_alone_and_once(compiled, name):
    given = {"grammar": GIVEN}
    small, again, more = compiled(
        (name, given, 3), (name, given | {"alpha": 0.5}, 3), (name, {"n_components": 2}, 3)
    )
    # Nothing of lists and tables, and no logs.
    assert small == sorted([LISTING, BEST_IN_FOREST, SWEEPS.get(name, FOREST)])
    # Another prior, and another grammar of this engine, need nothing new.
    assert again == more == []


@pytest.mark.parametrize("name", ["EMPCFG", "CVBPCFG", "HastingsPCFG"])
def test_tables_and_lists_are_compiled_where_they_are_chosen(compiled, name):
    full, wider, cyclic, again = compiled(
        (name, {"n_components": 8}, 3),
        (name, {"n_components": 9, "alpha": 0.5}, 3),
        (name, {"grammar": CYCLES}, 3),
        (name, {"grammar": CYCLES, "alpha": 0.5}, 3),
    )
    assert full == sorted([BEST, SWEEPS.get(name, TABLES)])
    # The sweep and the heaviest trees once more: with unary rules.
    of_lists = [BEST, "unary_rules.fill_closure", SWEEPS.get(name, LISTS)]
    assert cyclic == sorted(of_lists if name == "EMPCFG" else of_lists[::2])
    assert wider == again == []


@pytest.mark.parametrize("name", ["VBPCFG", "CVBPCFG", "HastingsPCFG"])
def test_independent_children_compile_their_own_form_alone_and_once(compiled, name):
    independent = {"rules": "independent", "n_components": 2}
    small, wider = compiled(
        (name, independent, 3), (name, independent | {"n_components": 9, "alpha": 0.5}, 3)
    )
    assert small == sorted([BEST, SWEEPS.get(name, "factors.expected_counts_by_factors")])
    assert wider == []


def test_a_learned_concentration_and_a_second_algorithm_need_little(compiled):
    em, auto, cvb = compiled(
        ("EMPCFG", {"grammar": GIVEN}, 3),
        ("VBPCFG", {"grammar": GIVEN, "alpha": "auto"}, 22),
        ("CVBPCFG", {"grammar": GIVEN}, 3),
    )
    assert em == sorted([LISTING, BEST_IN_FOREST, FOREST])
    assert auto == []
    assert cvb == [SWEEPS["CVBPCFG"]]


if __name__ == "__main__":
    from kernels.test_compilation import dispatchers

    dispatchers()  # imports all modules
    serve(_compiled_by_each)
