"""Clusters of sequences: each comes from one of several hidden Markov models, which are blocks of
states of one large model. A fit begins at k-means of how often sequences are in which states.
"""

import warnings
from dataclasses import field
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import ClusterMixin, MetaEstimatorMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.chain.paths.lattice import topology_of
from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.classifier import set_fitted_attributes, with_vocabulary_of_all
from sklearn_cvb.estimators.collections import as_collection, sequences_at
from sklearn_cvb.estimators.door import setting_of
from sklearn_cvb.estimators.fit_parameters import counted_to_fit, routing_of_fit
from sklearn_cvb.estimators.methods import without_lengths
from sklearn_cvb.estimators.parameters import Count
from sklearn_cvb.estimators.saving import VersionedPickle
from sklearn_cvb.estimators.summaries import Summaries
from sklearn_cvb.faces.translations import HmmlearnNames
from sklearn_cvb.reading.validation import HasMethods, InvalidParameterError, Seed
from sklearn_cvb.scikit_learn import fit_context
from sklearn_cvb.settings import Transitions

# Sweeps of the fits that a start is made of, and how often sequences go to the model that explains
# them best.
_FIRST_SWEEPS, _ROUNDS = 20, 5


class HMMMixture(Summaries, HmmlearnNames, ClusterMixin, MetaEstimatorMixin, VersionedPickle):
    """Clusters of sequences: each sequence comes from one of several hidden Markov models.

    Not for sequences that change from one behaviour to another: that is what the states of a single
    model are for. Where clusters are known for some sequences, take `HMMClassifier`.

    The mixture is one hidden Markov model whose states fall into blocks, a block for each cluster,
    and no block follows another. So it is learned by whatever algorithm the estimator has, exactly,
    and which cluster a sequence is of is a posterior as that of its states is.

    Parameters
    ----------
    estimator : EMHMM, VBHMM, CVBHMM or GibbsHMM
        The model of a cluster: its `n_components` are states of each, its priors those of the
        whole. `transitions` may have ends or durations, and any topology that does not say where to
        start.
    n_components : int
        Number of clusters.
    n_init : int
        Restarts, of which the one with the highest objective stays. Each begins at clusters that
        k-means finds among what one model says of the sequences (how often each is in each state,
        and in each pair), and sends every sequence to the model that explains it best, a few times.
    random_state : int, RandomState or None
        Of the restarts; that of the estimator is not used.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The most probable cluster of each training sequence.
    weights_ : ndarray of shape (n_components,)
        Probability of each cluster.
    startprob_, transmat_ : ndarray
        Of each cluster, shapes (n_components, n_states) and (n_components, n_states, n_states).
    hmm_ : estimator
        The whole model. Its states c n_states to (c + 1) n_states - 1 are those of cluster c.

    References
    ----------
    Smyth (1997), "Clustering sequences with hidden Markov models", NIPS 9.

    Examples
    --------
    >>> from sklearn_cvb import EMHMM, HMMMixture
    >>> X = [list("ababab"), list("babab"), list("aabbaabb"), list("bbaabbaa")] * 5
    >>> model = HMMMixture(EMHMM(3, n_init=3), n_components=2, random_state=0).fit(X)
    >>> first = model.predict([list("abababab"), list("babababa"), list("abbaabbaa")])
    >>> bool(first[0] == first[1] != first[2])
    True
    """

    estimator: Annotated[Any, HasMethods(["fit", "score_samples"])] = field(kw_only=False)
    n_components: Count = 2
    n_init: Count = 5
    random_state: Annotated[Seed, "random_state"] = None

    @without_lengths
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Learn the clusters and their models.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            As the estimator wants it.
        y : ignored
        **fit_params : dict
            ``sample_weight``, array-like of shape (n_samples,), where `fit` of the estimator takes
            it: sequences of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the estimator is no hidden Markov model, or a tagger, or takes no such parameter.
        ValueError
            If there are fewer sequences than clusters; of what the estimator refuses.
        KeyboardInterrupt
            On Ctrl-C, with the best restart so far kept, if a sweep of one was over.
        """
        X, _, asked = counted_to_fit(self, as_collection(X), None, fit_params)
        weights = asked.get("sample_weight")
        if len(X) < self.n_components:
            raise ValueError(f"n_components={self.n_components} clusters of {len(X)} sequences")
        model, X = with_vocabulary_of_all(self.estimator, X)
        model = self._check_cluster_model(model)
        rng = check_random_state(self.random_state)
        data = X, weights
        described = None if self.n_components == 1 else _state_frequencies(model, data, rng)
        best: Any = None
        interrupted = False
        try:
            for _ in range(self.n_init):
                whole = self._block_model(model, data, described, rng)
                try:
                    _fit(whole, *data)
                finally:
                    # Ctrl-C keeps sweeps that are over. The start is as large as the data.
                    best = _with_higher_objective(best, whole.set_params(init=None))
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
        shares = self._cluster_posteriors(best, X)
        start = best.startprob_.reshape(self.n_components, -1)
        weights = start.sum(axis=1)
        n = start.shape[1]
        blocks = best.transmat_.reshape(self.n_components, n, self.n_components, n)
        set_fitted_attributes(
            self,
            best,
            labels_=shares.argmax(axis=1),
            weights_=weights,
            startprob_=start / weights[:, None],
            transmat_=np.einsum("cicj->cij", blocks).copy(),
            hmm_=best,
            _learned=best,
        )
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _check_cluster_model(self, model: Any) -> Any:
        """The model of a cluster, where a mixture of such models is one."""
        if not isinstance(model, BaseHMM) or "tag_dictionary" in model.get_params(deep=False):
            raise TypeError(
                f"estimator must be an EMHMM, VBHMM, CVBHMM or GibbsHMM, got {type(model).__name__}"
            )
        asked = setting_of(model, "transitions")
        topology = topology_of(asked.topology, model.n_components)
        refused = {
            "topology": topology is not None and (topology.is_tied or not topology.start.all()),
            "start": asked.start != "free",
            "prior": asked.shared is not None,
        }
        for name, is_refused in refused.items():
            if is_refused:
                raise InvalidParameterError(
                    f"HMMMixture takes no estimator with transitions {name}="
                    f"{getattr(asked, name)!r}: it is of a chain, and a mixture has several"
                )
        for name in ("init", "checkpoint", "warm_start"):
            if getattr(model, name) not in (None, False):
                raise InvalidParameterError(
                    f"HMMMixture begins its fits itself: leave {name} of the estimator out"
                )
        if hasattr(model, "samples") and model.update is None:
            # Tokens that move one at a time stay in their block.
            model.set_params(update="parameter")
        return model

    def _block_model(
        self,
        model: Any,
        data: tuple[Any, Any],
        described: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> Any:
        """The model of blocks, to be fitted from one start: clusters by what tells of sequences."""
        X, weights = data
        clusters = np.zeros(len(X), int)
        if described is not None:
            seed = int(rng.randint(2**31 - 1))
            n_different = len(np.unique(described.round(9), axis=0))
            k_means = KMeans(min(self.n_components, n_different), n_init=1, random_state=seed)
            clusters = k_means.fit_predict(described, sample_weight=weights)
        models, clusters = _refined_clusters(model, data, clusters, self.n_components, rng)
        asked, n = setting_of(model, "transitions"), model.n_components
        topology = topology_of(asked.topology, n)
        allowed = np.ones((n, n), bool) if topology is None else topology.transition
        blocks = np.kron(np.eye(self.n_components, dtype=bool), allowed[:n, :n])
        settings = asked.get_params(deep=False) | {"topology": blocks}
        if np.ndim(asked.start_alpha):
            settings["start_alpha"] = np.tile(asked.start_alpha, self.n_components)
        begin: list[Any] = [None] * len(X)
        for c, one in enumerate(models):
            rows = np.flatnonzero(clusters == c)
            for row, posterior in zip(rows, posteriors_of(one, sequences_at(X, rows)), strict=True):
                begin[row] = np.zeros((len(posterior), n * self.n_components))
                begin[row][:, c * n : (c + 1) * n] = posterior
        seed = int(rng.randint(2**31 - 1))
        return clone(model).set_params(
            n_components=n * self.n_components,
            transitions=Transitions(**settings),
            init=begin,
            n_init=1,
            random_state=seed,
        )

    def _fitted_model(self) -> Any:
        """The whole model."""
        check_is_fitted(self)
        return self._learned

    def _cluster_posteriors(self, whole: Any, X: Any) -> np.ndarray:
        """p(cluster | sequence): that of its states at any step, such as the first."""
        firsts = np.array([posterior[0] for posterior in whole.predict_proba(X)])
        return firsts.reshape(len(firsts), self.n_components, -1).sum(axis=2)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each cluster given each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Rows sum to 1.
        """
        return self._cluster_posteriors(self._fitted_model(), X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable cluster of each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.predict_proba(X).argmax(axis=1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood (nats) of each sequence under the whole mixture.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._fitted_model().score_samples(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of an observed token (nats), by which numbers of clusters compare.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        y : ignored

        Returns
        -------
        float
        """
        return float(self._fitted_model().score(X))

    def bic(self, X: Any) -> float:
        """Bayesian information criterion: low is good (Schwarz 1978).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        float
            In nats, -2 log p(X) + d log(number of observed tokens), with the d of `aic`.
        """
        return float(self._fitted_model().bic(X))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion: low is good.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        float
            -2 log p(X) + 2 d in nats: d are the free parameters of all clusters, and one less than
            there are clusters.
        """
        return float(self._fitted_model().aic(X))

    get_metadata_routing = routing_of_fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _with_higher_objective(best: Any, other: Any) -> Any:
    """The one with the higher objective, the first among equals; None where neither is fitted."""
    if not hasattr(other, "objective_"):
        return best
    return other if best is None or other.objective_ > best.objective_ else best


def _fit(model: Any, X: Any, weights: np.ndarray | None) -> Any:
    """A fit, with weights of the sequences where there are any."""
    return model.fit(X) if weights is None else model.fit(X, sample_weight=weights)


def briefly_fitted(
    model: Any, X: Any, rng: np.random.RandomState, weights: np.ndarray | None = None
) -> Any:
    """A few sweeps of the model of one cluster."""
    few = {"n_init": 1, "random_state": int(rng.randint(2**31 - 1)), "verbose": 0}
    few["max_iter"] = min(model.max_iter, _FIRST_SWEEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _fit(clone(model).set_params(**few), X, weights)


def posteriors_of(model: Any, X: Any) -> list[np.ndarray]:
    """Posteriors of all steps that there are: rows of a table may end before it does."""
    return [one[~np.isnan(one[:, 0])] for one in model.predict_proba(X)]


def _state_frequencies(model: Any, data: tuple[Any, Any], rng: np.random.RandomState) -> np.ndarray:
    """How often each sequence is in each state of one model, and in each pair of states.

    Roots of shares: distances between them are those of Hellinger.
    """
    rows, (X, weights) = [], data
    for posterior in posteriors_of(briefly_fitted(model, X, rng, weights), X):
        pairs = posterior[:-1].T @ posterior[1:] / max(1, len(posterior) - 1)
        rows.append(np.sqrt(np.concatenate([posterior.mean(axis=0), pairs.ravel()])))
    return np.array(rows)


def _refined_clusters(
    model: Any,
    data: tuple[Any, Any],
    clusters: np.ndarray,
    n_clusters: int,
    rng: np.random.RandomState,
) -> tuple[list[Any], np.ndarray]:
    """A model of each cluster, and clusters of sequences that these explain best."""
    X, weights = data
    # Sequences that are all alike are one cluster to k-means.
    clusters = _without_empty_clusters(clusters, np.arange(len(clusters)), n_clusters)
    for _ in range(_ROUNDS):
        rows = [np.flatnonzero(clusters == c) for c in range(n_clusters)]
        own = [None if weights is None else weights[members] for members in rows]
        each = zip(rows, own, strict=True)
        models = [briefly_fitted(model, sequences_at(X, these), rng, w) for these, w in each]
        if n_clusters == 1:
            break
        sizes = np.bincount(clusters, weights, n_clusters)
        shares = sizes / sizes.sum()
        scores = np.stack([one.score_samples(X) for one in models], axis=1) + np.log(shares)
        # A cluster that nothing is left of begins again at the sequence that is explained worst.
        better = _without_empty_clusters(
            scores.argmax(axis=1), np.argsort(scores.max(axis=1)), n_clusters
        )
        if (better == clusters).all():
            break
        clusters = better
    return models, clusters


def _without_empty_clusters(clusters: np.ndarray, order: np.ndarray, n_clusters: int) -> np.ndarray:
    """Clusters none of which is empty: the first sequences in this order that others spare move."""
    clusters, sizes = clusters.copy(), np.bincount(clusters, minlength=n_clusters)
    for c in np.flatnonzero(sizes == 0):
        row = next(row for row in order if sizes[clusters[row]] > 1)
        sizes[clusters[row]] -= 1
        clusters[row], sizes[c] = c, 1
    return clusters
