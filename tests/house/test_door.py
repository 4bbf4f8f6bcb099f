"""The door: an estimator makes its options once; below no function takes an estimator."""

from house_rules import calls_back, takes_an_estimator


def test_no_function_takes_an_estimator():
    assert takes_an_estimator() == {}, "give it options, or what it needs of them"


def test_no_private_name_is_called_back():
    assert calls_back() == set(), "whatever its parameter is called"
