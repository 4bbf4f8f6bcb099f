"""What functions below may have of an estimator, as values: X that scikit-learn has checked,
parameters as settings, what the last fit has learned.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_cvb.chain.options import StartModel, emits_symbols
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import KnownWords, Table, is_table
from sklearn_cvb.reading.events import cautions_of_events
from sklearn_cvb.reading.series import are_rows
from sklearn_cvb.reading.validation import LENGTHS
from sklearn_cvb.settings import HMMParameters

# What is known of the columns of a table, or of frames.
_OF_COLUMNS = ("n_features_in_", "feature_names_in_", "categories_")


def checked_input(estimator: Any, X: Any, *, to_fit: bool = False) -> Any:
    """X as it is read: of a table what has passed the checks; all else as it is."""
    return _checked_table(estimator, X, to_fit, "symbols") if is_table(X) else X


def checked_rows(estimator: Any, X: Any, *, to_fit: bool = False) -> Any:
    """X of numbers as it is read: of rows of single numbers what has passed the checks."""
    return _checked_table(estimator, X, to_fit, "numbers") if are_rows(X) else X


def _checked_table(estimator: Any, X: Any, to_fit: bool, what: str) -> Table:
    cautions = cautions_of_events(X, what)
    if to_fit:
        return Table(*check_table_to_fit(estimator, X), True, X, cautions)
    is_first = not hasattr(estimator, "n_features_in_")
    return Table(check_table(estimator, X, reset=False), {}, is_first, X)


def check_table(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Validate a 2-D X as scikit-learn demands; NaN stands for a missing observation."""
    if getattr(X, "ndim", 2) == 1:
        raise ValueError(
            "Expected 2D array, got 1D array instead. Reshape your data: pass [X] if it is one "
            f"sequence, else {LENGTHS}"
        )
    return validate_data(
        estimator, X, dtype=None, ensure_all_finite="allow-nan", ensure_2d=True, reset=reset
    )


def check_table_to_fit(estimator: Any, X: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """A validated 2-D X, and the attributes that scikit-learn sets of it."""
    # It sets them on whatever it is given: a stand-in with the same class and parameters.
    stand_in = object.__new__(type(estimator))
    vars(stand_in).update(estimator.get_params(deep=False))
    table = check_table(stand_in, X, reset=True)
    return table, columns_of(stand_in)


def columns_of(estimator: Any) -> dict[str, Any]:
    """What an estimator knows of the columns of what it was fitted to."""
    found = vars(estimator)
    return {name: found[name] for name in _OF_COLUMNS if name in found}


def setting_of(estimator: Any, name: str) -> Any:
    """A parameter as the object, checked, that its value is short for."""
    return estimator._settings[name].of(getattr(estimator, name))


def known_words(estimator: Any) -> KnownWords:
    """Which words a model of sentences knows, and what becomes of others: two parameters."""
    return KnownWords(estimator.vocabulary, estimator.handle_unknown)


def chain_start_of(init: Any, chain: Any) -> Any:
    """`init` of a chain as a value: of a model what a fit may ask of it; all else as it is."""
    if not hasattr(init, "predict_proba"):
        return init
    if not hasattr(init, "counts_"):
        raise ValueError(
            "init is a model that is not fitted (clone unfits it: wrap it in "
            "sklearn.frozen.FrozenEstimator to keep it through a search)"
        )
    if len(getattr(init, "startprob_", ())) == chain.n_components and _are_alike(init, chain):
        # Posteriors of steps would lose what its transitions know of their order.
        return posterior_means_of(init)
    words = getattr(init, "vocabulary_", ())
    return StartModel(init.counts_, getattr(init, "end_counts_", None), words, init.predict_proba)


def _are_alike(*chains: Any) -> bool:
    """Whether states of these chains emit numbers, and follow each other, by the same laws."""
    if any(emits_symbols(chain.emission) for chain in chains):
        return False
    from sklearn_cvb.chain.numbers.series import emission_of

    asked = [(emission_of(chain.emission), setting_of(chain, "transitions")) for chain in chains]
    return repr(asked[0]) == repr(asked[1]) and not asked[0][1].varies_by


def posterior_means_of(model: Any) -> HMMParameters:
    """The posterior means of a fitted model."""
    chain_tables: dict[str, Any] = {"startprob": model.startprob_, "transmat": model.transmat_}
    if hasattr(model, "vocabulary_"):
        words = {"emissionprob": model.emissionprob_, "vocabulary": model.vocabulary_.tolist()}
        return HMMParameters(**chain_tables, **words)
    emitted = model._learned.extra.numeric
    tables = emitted.family.stated(emitted.point).items()
    own = {name: table for name, table in tables if not name.startswith("precisions")}
    names, categories, context, inputs = emitted.columns
    if names is not None:
        others = (context, *inputs)
        own["feature_names_in"] = [name for i, name in enumerate(names) if i not in others]
    if categories:
        own["categories"] = dict(categories)
    return HMMParameters(**chain_tables, emissions=own)


def learned_of(estimator: Any) -> Learned:
    """What the last fit has left; raises NotFittedError where there is none."""
    learned: Learned | None = vars(estimator).get("_learned")
    if learned is None:
        check_is_fitted(estimator)
    assert learned is not None, "else it raises"
    return learned
