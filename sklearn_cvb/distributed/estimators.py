"""Estimators that learn on the workers of Dask: each has the parameters of its plain one.

A class here says which plain estimator it is of. The plain one does the work, on a corpus in
shards, and `to_local` hands it out.
"""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sklearn_cvb.distributed.asking import OnWorkers
from sklearn_cvb.distributed.partitions import Partitions, client_of, labels_of, partitions_of
from sklearn_cvb.distributed.progress import Progress
from sklearn_cvb.distributed.workers import family_of, predicted
from sklearn_cvb.hmm.cvb import CVBHMM
from sklearn_cvb.hmm.cvb_tagger import CVBHMMTagger
from sklearn_cvb.hmm.em import EMHMM
from sklearn_cvb.hmm.em_tagger import EMHMMTagger
from sklearn_cvb.hmm.vb import VBHMM
from sklearn_cvb.hmm.vb_tagger import VBHMMTagger
from sklearn_cvb.pcfg.cvb import CVBPCFG
from sklearn_cvb.pcfg.em import EMPCFG
from sklearn_cvb.pcfg.vb import VBPCFG

_OWN = ("client", "reader")
_DOC = """{title}

    All parameters of `{plain}`, and two more. Sequences come in partitions, each of which is read
    and encoded once, where Dask puts it, and stays there. {about}

    Parameters
    ----------
    **parameters
        Those of `{plain}`, with its defaults.
    client : distributed.Client or None, default=None
        The client to use; None for the current one.
    reader : callable or None, default=None
        ``reader(path)`` gives the sequences of a path; None for text, one sequence a line, its
        tokens between spaces.

    Attributes
    ----------
    local_ : {plain}
        The fitted plain estimator, without `labels_`: sequences are elsewhere. Its attributes are
        found here, too.
    """
_ABOUT = {
    "batch": (
        "Counts are summed over partitions in their order, so that\n    the result does not depend "
        "on the number of workers, and with one partition is that of the\n    plain estimator to "
        "the last digit."
    ),
    "collapsed": (
        "Each partition is swept from the counts of all: what it\n    changes itself is known at "
        "once, what the others change a round later."
    ),
}


class Distributed(BaseEstimator):
    """What all estimators on workers share; a subclass names its plain one."""

    _plain_class: ClassVar[type]

    # Set by constructors.
    client: Any
    reader: Callable[[Any], Any] | None
    local_: Any

    def __init_subclass__(cls, plain: type, **others: Any) -> None:
        super().__init_subclass__(**others)
        cls._plain_class = plain
        cls.__init__ = _constructor_of(plain)  # type: ignore[method-assign]
        about = _ABOUT["collapsed" if issubclass(plain, CVBHMM | CVBPCFG) else "batch"]
        title = (cls.__doc__ or "").strip()
        cls.__doc__ = _DOC.format(title=title, plain=plain.__name__, about=about)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the model from sequences in partitions.

        Parameters
        ----------
        X : dask bag, dask Series of lists, list of delayed partitions or of paths
            Each partition is a collection of sequences; see `reader` for paths.
        y : dask bag, dask Series or list of delayed partitions, default=None
            What is known of states or tags, in the partitions of X.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no client, or X and y are cut differently.
        """
        model = self._to_fit()
        model._validate_params()
        family = family_of(model)
        family.refuse_in_shards(model)
        client = client_of(self.client)
        partitions = partitions_of(X, self.reader)
        labels = labels_of(y, len(partitions.items))
        with Progress(model.verbose, model.max_iter) as progress:
            shards = OnWorkers(client, partitions, labels, progress)
            try:
                laid_out = family.lay_out(model, shards.survey(model))
                facts = shards.make(laid_out.model)
                whole = family.whole_of(model, laid_out, facts, shards)
                family.fit_whole(model, whole)
            finally:
                shards.close()
        # Whoever keeps the model, or sends it on, keeps no tasks.
        whole.forget_shards()
        self.local_ = model
        return self

    def predict(self, X: Any) -> Any:
        """Most probable states, or tags, of sequences in partitions.

        Parameters
        ----------
        X : as in `fit`, or sequences in one piece

        Returns
        -------
        dask bag, or list of delayed
            A bag for a bag and a Series, else a delayed array for each partition; nothing is
            computed yet. Sequences in one piece are predicted at once.
        """
        return self._over_partitions("predict", X)

    def predict_proba(self, X: Any) -> Any:
        """Posterior probabilities of the states of sequences in partitions.

        Parameters
        ----------
        X : as in `fit`, or sequences in one piece

        Returns
        -------
        dask bag, or list of delayed
            As `predict`.
        """
        return self._over_partitions("predict_proba", X)

    def score_samples(self, X: Any) -> Any:
        """Log-likelihood of every sequence, in partitions.

        Parameters
        ----------
        X : as in `fit`, or sequences in one piece

        Returns
        -------
        dask bag, or list of delayed
            As `predict`.
        """
        return self._over_partitions("score_samples", X)

    def to_local(self) -> Any:
        """The fitted plain estimator, which needs no Dask.

        Returns
        -------
        estimator
            Without `labels_`, which `predict` gives for any sequences.
        """
        return self._fitted_local()

    def _over_partitions(self, method: str, X: Any) -> Any:
        from dask import bag, delayed

        model = self._fitted_local()
        try:
            found: Partitions = partitions_of(X, self.reader)
        except TypeError:
            return getattr(model, method)(X)
        shared = delayed(model)
        lazy = [
            delayed(predicted, name=f"{method}-partition")(shared, method, item, found.reader)
            for item in found.items
        ]
        return bag.from_delayed(lazy) if found.kind in ("bag", "series") else lazy

    def _fitted_local(self) -> Any:
        if "local_" not in vars(self):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit first"
            )
        return self.local_

    def _to_fit(self) -> Any:
        """The plain estimator to fit: with `warm_start` the one before, which goes on."""
        parameters = self.get_params(deep=False)
        for name in _OWN:
            del parameters[name]
        before = vars(self).get("local_")
        if before is not None and parameters["warm_start"]:
            return before.set_params(**parameters)
        return self._plain_class(**parameters)

    def __getattr__(self, name: str) -> Any:
        # What fits leave ends with an underscore.
        if name.endswith("_") and not name.startswith("_") and "local_" in vars(self):
            return getattr(self.local_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> Any:
        # A client belongs to its process.
        return {**super().__getstate__(), "client": None}


def _constructor_of(plain: type) -> Callable[..., None]:
    """A constructor with the parameters of a plain estimator, and those of `Distributed`."""
    signature = inspect.signature(plain)
    own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _OWN]
    signature = signature.replace(parameters=[*signature.parameters.values(), *own])

    def constructor(self: Any, *values: Any, **named: Any) -> None:
        bound = signature.bind(*values, **named)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [itself, *signature.parameters.values()]
    constructor.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    constructor.__name__ = "__init__"
    return constructor


class DistributedEMHMM(Distributed, plain=EMHMM):
    """Hidden Markov model learned by expectation-maximisation on the workers of Dask."""


class DistributedVBHMM(Distributed, plain=VBHMM):
    """Hidden Markov model learned by variational Bayes on the workers of Dask."""


class DistributedCVBHMM(Distributed, plain=CVBHMM):
    """Hidden Markov model learned by collapsed variational Bayes on the workers of Dask."""


class DistributedEMHMMTagger(Distributed, plain=EMHMMTagger):
    """Tagger learned by expectation-maximisation on the workers of Dask."""


class DistributedVBHMMTagger(Distributed, plain=VBHMMTagger):
    """Tagger learned by variational Bayes on the workers of Dask."""


class DistributedCVBHMMTagger(Distributed, plain=CVBHMMTagger):
    """Tagger learned by collapsed variational Bayes on the workers of Dask."""


class DistributedEMPCFG(Distributed, plain=EMPCFG):
    """Grammar learned by expectation-maximisation on the workers of Dask."""


class DistributedVBPCFG(Distributed, plain=VBPCFG):
    """Grammar learned by variational Bayes on the workers of Dask."""


class DistributedCVBPCFG(Distributed, plain=CVBPCFG):
    """Grammar learned by collapsed variational Bayes on the workers of Dask."""
