"""What else `fit` of an estimator within another takes, such as weights, and how it gets there."""

from inspect import signature
from typing import Any

from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)

from sklearn_cvb.estimators.collections import counted_sequences


def routing_of_fit(self: Any) -> MetadataRouter:
    """How scikit-learn hands metadata on: what `fit` is given to `fit` of `estimator`.

    Returns
    -------
    MetadataRouter
    """
    to_fit = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
    return router.add(estimator=self.estimator, method_mapping=to_fit)


def _routed_to_fit(estimator: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
    """What of it `fit` of the inner estimator gets: all, unless metadata are routed."""
    given = {name: value for name, value in fit_params.items() if value is not None}
    inner = estimator.estimator
    taken = signature(inner.fit).parameters
    for name in given:
        if name not in taken and not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
            more = [one for one in taken if one not in ("X", "y")]
            raise TypeError(
                f"{type(estimator).__name__}.fit() got an unexpected keyword argument {name!r}; it "
                f"takes X, y and what fit of {type(inner).__name__} takes besides: "
                f"{', '.join(more) or 'nothing'}"
            )
    if not _routing_enabled():
        return given
    return dict(process_routing(estimator, "fit", **given).estimator.fit)


def counted_to_fit(
    estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]
) -> tuple[Any, Any, dict[str, Any]]:
    """The sequences that count, what is known of them, and what the inner `fit` gets of each."""
    asked = _routed_to_fit(estimator, fit_params)
    if "sample_weight" in asked:
        X, y, asked["sample_weight"] = counted_sequences(X, y, asked["sample_weight"])
    return X, y, asked
