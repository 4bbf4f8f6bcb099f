"""The door: an estimator makes its options once; below no function takes an estimator."""

from house_rules import calls_back, takes_an_estimator

# Private names of estimators that functions below ask for, whatever their parameter is called: of a
# fitted model that a user gives as `init`.
_CALLED_BACK = {"_learned"}


def test_no_function_takes_an_estimator():
    assert takes_an_estimator() == {}, "give it options, or what it needs of them"


def test_no_more_private_names_are_called_back():
    assert calls_back() - _CALLED_BACK == set()
    assert _CALLED_BACK - calls_back() == set(), "strike these out"
