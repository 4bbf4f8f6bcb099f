"""The door: an estimator makes its options once; below no function takes an estimator.

Exceptions are those of the day the rule was made, and may only become fewer.
"""

from house_rules import calls_back, takes_an_estimator

_TAKE_AN_ESTIMATOR = {
    "learning.learned": """
        learned_of
    """,
}
# Private names of estimators that functions below ask for, whatever their parameter is called.
_CALLED_BACK = """
_asked_in_parts _fit_reading _learned _module_of_parts
"""
_CALLED_BACK_OTHERWISE = "_fit_reading _module_of_parts _validate_params"


def test_no_more_functions_take_an_estimator():
    known = {
        f"{module}:{name}" for module, text in _TAKE_AN_ESTIMATOR.items() for name in text.split()
    }
    found = takes_an_estimator()
    assert found.keys() - known == set(), "give it options, or what it needs of them"
    assert known - found.keys() == set(), "strike these out"


def test_no_more_private_names_are_called_back():
    known = {*_CALLED_BACK.split(), *_CALLED_BACK_OTHERWISE.split()}
    assert calls_back() - known == set()
    assert known - calls_back() == set(), "strike these out"
