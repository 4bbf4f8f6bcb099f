"""Fits and predictions of plain estimators on partitions of Dask."""

import copy
from typing import Any

from dask import bag, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.distributed.asking import OnWorkers
from sklearn_cvb.distributed.partitions import current_client, labels_of, partitions_of
from sklearn_cvb.distributed.progress import Progress
from sklearn_cvb.distributed.workers import family_of, predicted


def fit_on_workers(model: Any, X: Any, y: Any) -> Any:
    """Fit a model on partitions, each of which is read and encoded once where Dask puts it.

    Counts are summed over partitions in their order, so that the result does not depend on the
    number of workers. CVB sweeps each partition from the counts of all.
    """
    family = family_of(model)
    family.refuse_in_shards(model)
    partitions = partitions_of(X)
    labels = labels_of(y, len(partitions.items))
    client = current_client()
    with Progress(model.verbose, model.max_iter) as progress, model._unchanged_on_error():
        source = OnWorkers(client, partitions, labels, progress)
        try:
            laid_out = family.lay_out(model, source.survey(_as_sent(model)))
            facts = source.make(_as_sent(laid_out.model))
            whole = family.whole_of(model, laid_out, facts, source)
            family.fit_whole(model, whole)
        finally:
            source.close()
    # Whoever keeps the model, or sends it on, keeps no tasks.
    whole.forget_shards()
    return model


def _as_sent(model: Any) -> Any:
    """A model as workers need it: without what an earlier fit has left."""
    model = copy.copy(model)
    for name in vars(model).get("_fitted_names", ()):
        vars(model).pop(name, None)
    return model


def over_partitions(model: Any, method: str, X: Any, settings: dict[str, Any]) -> Any:
    """What a method of a fitted model gives for each partition; nothing is computed yet."""
    check_is_fitted(model)
    found, shared = partitions_of(X), delayed(model)
    lazy = [
        delayed(predicted, name=f"{method}-partition")(shared, method, item, settings)
        for item in found.items
    ]
    return bag.from_delayed(lazy) if found.is_collection else lazy
