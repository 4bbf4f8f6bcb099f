"""The line: what hangs above is not imported below, not even inside functions or by a text.

No arrow runs up, or along a floor, and the core keeps to its budget.
"""

from house_rules import arrows_up, code_lines, functions_of, modules, up_through_the_line, wing_of

# Code lines below the line, functions that algorithms ask of models: lower them with every move.
_BUDGET, _SLACK = 32_273, 250
_FUNCTIONS_ASKED = 26


def test_nothing_below_the_line_imports_what_hangs_above():
    assert up_through_the_line() == set(), "it hangs above the line: turn the arrow round"


def test_no_arrow_runs_up_or_along_a_floor():
    assert arrows_up() == set(), "a floor imports from those below it alone"


def test_the_core_keeps_to_its_budget():
    n = sum(code_lines(name) for name in modules() if wing_of(name) in ("core", "public"))
    assert n <= _BUDGET, "what can hang above the line, or go?"
    assert n > _BUDGET - _SLACK, f"well done: make the budget {n}"


def test_a_model_is_asked_for_no_more_functions():
    protocols = "Resumable", "Learnable", "Samplable"
    n = sum(len(functions_of("learning.model", one)) for one in protocols)
    assert n <= _FUNCTIONS_ASKED, "who asks for more has a protocol beside it"
    assert n == _FUNCTIONS_ASKED, f"well done: make it {n}"
