"""The line: what hangs above is not imported below, not even inside functions or by a text.

Arrows that run up, or along a floor, may only become fewer: one that is no more must be struck out
here, and a new one is a mistake, as is a core that grows beyond its budget.
"""

from house_rules import arrows_up, code_lines, functions_of, modules, up_through_the_line, wing_of

# Rooms that import from their own floor, or from a higher one.
_UP = {
    ("reading", "settings"),
}
# Code lines below the line, functions of `Model`: lower them with every move.
_BUDGET, _SLACK = 28_872, 250
_FUNCTIONS_OF_MODEL = 29


def test_nothing_below_the_line_imports_what_hangs_above():
    assert up_through_the_line() == set(), "it hangs above the line: turn the arrow round"


def test_no_new_arrow_runs_up():
    assert arrows_up() - _UP == set()
    assert _UP - arrows_up() == set(), "strike these out"


def test_the_core_keeps_to_its_budget():
    n = sum(code_lines(name) for name in modules() if wing_of(name) in ("core", "public"))
    assert n <= _BUDGET, "what can hang above the line, or go?"
    assert n > _BUDGET - _SLACK, f"well done: make the budget {n}"


def test_a_model_is_asked_for_no_more_functions():
    n = len(functions_of("learning.model", "Model"))
    assert n <= _FUNCTIONS_OF_MODEL, "an annex asks for what it needs by itself"
    assert n == _FUNCTIONS_OF_MODEL, f"well done: make it {n}"
