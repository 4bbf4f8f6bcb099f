"""Fits and predictions of plain estimators on partitions of Dask."""

from typing import Any

from dask import bag, delayed

from sklearn_cvb.chain.symbols.vocabulary_pass import parameters_of
from sklearn_cvb.learning.compilation import announced_fit
from sklearn_cvb.reading.dask.asking import OnWorkers
from sklearn_cvb.reading.dask.partitions import current_client, labels_of, partitions_of
from sklearn_cvb.reading.dask.progress import Progress
from sklearn_cvb.reading.dask.workers import family_of, predicted
from sklearn_cvb.reading.validation import check_sizes


def fit_on_workers(model: Any, X: Any, y: Any) -> None:
    """Fit a model on partitions, each of which is read and encoded once where Dask puts it.

    Counts are summed over partitions in their order, so that the result does not depend on the
    number of workers. CVB sweeps each partition from the counts of all.
    """
    check_sizes(model.get_params(deep=False))
    family = family_of(model)
    family.refuse_in_shards(model)
    partitions = partitions_of(X)
    labels = labels_of(y, len(partitions.items))
    client = current_client()
    progress = Progress(model.verbose, model.max_iter)
    with announced_fit(model, model.verbose), progress:
        source = OnWorkers(client, partitions, labels, progress)
        try:
            laid_out = family.lay_out(model, source.survey(parameters_of(model)))
            facts = source.make(laid_out.as_sent)
            read = family.read_in_shards(laid_out, facts, source)
            model._fit_reading(read, X, y)
        finally:
            source.close()
    # Whoever keeps the model, or sends it on, keeps no tasks.
    read.problem.forget_shards()


def over_partitions(model: Any, method: str, X: Any, settings: dict[str, Any]) -> Any:
    """What a method of a fitted model gives for each partition; nothing is computed yet."""
    found, shared = partitions_of(X), delayed(model)
    lazy = [
        delayed(predicted, name=f"{method}-partition")(shared, method, item, settings)
        for item in found.items
    ]
    return bag.from_delayed(lazy) if found.is_collection else lazy
