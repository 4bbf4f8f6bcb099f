"""What importing the package loads, and what it offers."""

import fresh
import pytest
import sklearn

import sklearn_cvb

# In a process of its own: other tests have loaded everything.
PROGRAM = """
import gc
import sys
gc.{switch}()
import sklearn_cvb
print(gc.isenabled())

def of_trees():
    return [name for name in sys.modules if ".pcfg" in name or ".kernels.tree" in name]

assert not of_trees(), of_trees()
assert set(sklearn_cvb.__all__) <= set(dir(sklearn_cvb))
from sklearn_cvb import EMPCFG, Grammar
assert of_trees()
assert EMPCFG is sklearn_cvb.EMPCFG is sys.modules["sklearn_cvb.estimators.grammars"].EMPCFG
assert not hasattr(sklearn_cvb, "nothing")
"""


# As with a scikit-learn that has no callbacks.
WITHOUT_CALLBACKS = """
import sys
import sklearn.model_selection
sys.modules["sklearn.callback"] = None
from sklearn_cvb import EMHMM

model = EMHMM(2, max_iter=2, random_state=0).fit([["a", "b"], ["b", "a", "b"]])
assert model.n_iter_ == 2
assert not hasattr(model, "set_callbacks")
model.set_callbacks()
"""


@pytest.mark.process
def test_without_callbacks_models_are_fitted_and_say_what_is_missing():
    done = fresh.run(WITHOUT_CALLBACKS)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    expected = f"EMHMM has no callbacks with scikit-learn {sklearn.__version__}: they came with 1.9"
    assert said == f"AttributeError: {expected}"


@pytest.mark.process
@pytest.mark.parametrize("collects", [True, False])
def test_grammars_are_loaded_when_asked_for_and_garbage_is_collected_as_before(collects):
    done = fresh.run(PROGRAM.format(switch="enable" if collects else "disable"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(collects)]


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("name", sklearn_cvb.__all__)
def test_public_names_are_there(name):
    assert getattr(sklearn_cvb, name).__name__ == name


# In an order of their own, so that none is there because another one has loaded it.
ASKED_FOR = """
import sys
import sklearn_cvb

loaded = [name for name in dir(sklearn_cvb) if f"sklearn_cvb.{{name}}" in sys.modules]
assert "{name}" not in loaded, loaded
assert sklearn_cvb.{name} is sys.modules["sklearn_cvb.{name}"]
assert sklearn_cvb.{name}.__all__
for name in dir(sklearn_cvb):
    getattr(sklearn_cvb, name)
"""


@pytest.mark.process
@pytest.mark.parametrize("name", ["metrics", "plotting", "selection"])
def test_all_names_that_are_listed_are_there_when_asked_for(name):
    done = fresh.run(ASKED_FOR.format(name=name))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["EMHNN", "pcfg_"])
def test_an_unknown_name_is_named(name):
    with pytest.raises(AttributeError, match=f"module 'sklearn_cvb' has no attribute '{name}'"):
        getattr(sklearn_cvb, name)
