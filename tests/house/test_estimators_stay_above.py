"""Below `estimators/` no function is run that holds an estimator, nor a value that does."""

import sys
import threading
from contextlib import suppress

import pytest
from house_rules import below_the_door, modules

import sklearn_cvb
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.learning.fingerprints import digest_of

_BELOW = {str(modules()[name]): name for name in below_the_door()}


def _is_estimator(value):
    return type(value).__module__.startswith("sklearn_cvb.") and hasattr(type(value), "fit")


def _holds_an_estimator(value):
    """Whether a value is an estimator, or has one as a field."""
    if isinstance(value, tuple | list):
        fields = value
    elif isinstance(value, dict):
        fields = value.values()
    elif type(value).__module__.startswith("sklearn_cvb."):
        fields = getattr(value, "__dict__", {}).values()
    else:
        fields = ()
    return _is_estimator(value) or any(map(_is_estimator, fields))


def _arguments(frame):
    """Arguments of a call; the estimator is none of its own methods'."""
    code = frame.f_code
    n = code.co_argcount + code.co_kwonlyargcount
    n += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    names = code.co_varnames[:n]
    # Compiled functions have no locals to be seen.
    values = [frame.f_locals.get(name) for name in names]
    if names[:1] in (("self",), ("cls",)) and _is_estimator(values[0]):
        return values[1:]
    return values


def _holders(call):
    """Functions below the door, run in any thread, that hold an estimator."""
    found, main = set(), sys.getprofile()

    def see(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename in _BELOW:
            key = _BELOW[frame.f_code.co_filename], frame.f_code.co_qualname
            if key not in found and any(map(_holds_an_estimator, _arguments(frame))):
                found.add(key)

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(main)
        threading.setprofile(main)
    return found


def _used(situation):
    """An estimator in all its ways."""
    model = situation.unfitted()
    model.fit(situation.X, situation.y)
    model.predict(situation.X_new)
    model.score(situation.X_new)
    if hasattr(model, "partial_fit") and situation.y is None:
        # What is to be learned of the prior takes all sequences at once.
        with suppress(ValueError):
            situation.unfitted().partial_fit(situation.X)


@pytest.mark.many(usual=9)
@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_no_estimator_goes_below_the_door(name):
    assert hasattr(sklearn_cvb, name)
    found = set()
    for situation in list(SITUATIONS[name].values())[:3]:
        found |= _holders(lambda one=situation: _used(one))
    assert found == set(), "give it options, or what it needs of them"


@pytest.mark.parametrize("name", ["EMHMM", "CVBHMMTagger", "EMPCFG", "EMDMV", "EMAlignmentHMM"])
def test_nor_does_the_model_that_a_fit_starts_from(name):
    situation = next(iter(SITUATIONS[name].values()))
    model = situation.unfitted().set_params(init=situation.fit())
    assert _holders(lambda: model.fit(situation.X, situation.y).predict(situation.X_new)) == set()


def test_one_that_does_is_found():
    model = sklearn_cvb.EMHMM(2)
    for held in (model, (1, model), {"estimator": model}):
        assert ("learning.fingerprints", "digest_of") in _holders(lambda one=held: digest_of(one))
    assert ("learning.fingerprints", "digest_of") not in _holders(lambda: digest_of((1, "EMHMM")))
