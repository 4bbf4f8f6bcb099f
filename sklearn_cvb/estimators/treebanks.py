"""Grammars with latent annotations, learned from a treebank: a class for each algorithm."""

from typing import Annotated, ClassVar

import numpy as np

from sklearn_cvb.estimators.annexes import Annexes
from sklearn_cvb.estimators.base_treebanks import BaseLatentPCFG, SubtypeFields, TreeFields
from sklearn_cvb.estimators.parameters import (
    BoundedSweepFields,
    LeaveOneOutSweepFields,
    PseudoCount,
    SweepFields,
)
from sklearn_cvb.learning.algorithms import CVB, EM, VB
from sklearn_cvb.reading.validation import StrOptions, check_concentrations


class LatentPCFG(Annexes, BaseLatentPCFG):
    """What `BaseLatentPCFG` does, and what hangs above the line."""


class EMLatentPCFG(SubtypeFields, SweepFields, TreeFields, LatentPCFG):
    """Parser learned from a treebank, with hidden subtypes of symbols, by EM.

    Not for the best parses: `CVBLatentPCFG` is ahead, the more so the more subtypes there are. Much
    of that is smoothing, which `smoothing` adds here.

    Learns a parser from trees: every symbol of the treebank is split into subtypes, which are
    hidden.

    Parameters
    ----------
    alpha : float
        Pseudo-count of every annotated rule; 0 is maximum likelihood, above 0 maximum a posteriori
        in the softmax basis (adds alpha, not alpha - 1).
    smoothing : float
        Pseudo-count of every annotated rule that is added to the final counts, for prediction and
        scores only: what a prior gains there, without its effect on learning.

    Attributes
    ----------
    objective_ : float
        Log-likelihood of the trees, annotations summed out, and log prior, nats.
    history_ : ndarray of shape (n_iter_,)
        The objective of every sweep, of the weights that it used.

    References
    ----------
    Matsuzaki, Miyao and Tsujii (2005), "Probabilistic CFG with latent annotations", ACL.
    Petrov, Barrett, Thibaux and Klein (2006), "Learning accurate, compact, and interpretable tree
    annotation", ACL.

    Examples
    --------
    >>> from sklearn_cvb import EMLatentPCFG
    >>> trees = [
    ...     "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    ...     "(S (NP (DT a) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    ... ]

    Of so few trees, maximum likelihood alone learns whole trees by heart.

    >>> model = EMLatentPCFG(alpha=0.1, rare_threshold=0, random_state=0).fit(trees)
    >>> print(model.predict([["the", "cat", "ran"]])[0])
    (S (NP (DT the) (NN cat)) (VP (VBD ran)))
    """

    alpha: PseudoCount = 0.0
    smoothing: PseudoCount = 0.0

    _sweeps = EM

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("alpha", "smoothing"):
            check_concentrations(name, np.array(getattr(self, name)), or_zero=True)


class VBLatentPCFG(SubtypeFields, BoundedSweepFields, TreeFields, LatentPCFG):
    """Parser learned from a treebank, with hidden subtypes of symbols, by variational Bayes.

    Not for the best parses: it is hardly ahead of `EMLatentPCFG`, and `CVBLatentPCFG` is.

    Learns a parser from trees: every symbol of the treebank is split into subtypes, which are
    hidden. The posterior of the probabilities is a product of Dirichlet distributions.

    Attributes
    ----------
    objective_ : float
        `lower_bound_`.
    history_ : ndarray of shape (n_iter_,)
        The bound after every sweep; it never falls while the subtypes are the same.
    lower_bound_ : float
        Bound of the log evidence of the trees, nats.

    References
    ----------
    Matsuzaki, Miyao and Tsujii (2005), "Probabilistic CFG with latent annotations", ACL.
    Petrov, Barrett, Thibaux and Klein (2006), "Learning accurate, compact, and interpretable tree
    annotation", ACL.
    Kurihara and Sato (2006), "Variational Bayesian grammar induction for natural language", ICGI.

    Examples
    --------
    >>> from sklearn_cvb import VBLatentPCFG
    >>> trees = [
    ...     "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    ...     "(S (NP (DT a) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    ... ]
    >>> model = VBLatentPCFG(rare_threshold=0, random_state=0).fit(trees)
    >>> print(model.predict([["the", "cat", "ran"]])[0])
    (S (NP (DT the) (NN cat)) (VP (VBD ran)))
    """

    accelerate: ClassVar[bool] = False  # type: ignore[misc]

    _sweeps = VB


class CVBLatentPCFG(SubtypeFields, LeaveOneOutSweepFields, TreeFields, LatentPCFG):
    """Parser learned from a treebank, with hidden subtypes of symbols: where to begin.

    Not for raw sentences: it needs their trees. From eight subtypes on a smaller `alpha` may be
    better, as the prior grows with their square: :ref:`treebank-alpha` chooses by held-out trees.

    Learns a parser from trees: every symbol of the treebank is split into subtypes, which are
    hidden. Probabilities are integrated out, and the subtypes in each tree are inferred from the
    expected counts of all others.

    Parameters
    ----------
    update : {"sequence", "token"}
        "sequence": leave out a tree at a time, all its subtypes together (section 3.2). "token":
        a node at a time, as if the nodes of a tree were independent (section 3.4).

    Attributes
    ----------
    counts_ : LatentPCFGCounts
        Expected counts under the last posteriors.
    history_ : ndarray of shape (n_iter_,)
        Leave-one-out score of every sweep while counts move (nats per token): it may fall.
        With update="token" that of a pass over the trees after the sweep.
    loo_score_ : float
        Mean over tokens of log p(tree i | expected counts of all other trees), nats. A pseudo
        leave-one-out score: the other trees' posteriors have seen tree i, so it is optimistic.

    References
    ----------
    Matsuzaki, Miyao and Tsujii (2005), "Probabilistic CFG with latent annotations", ACL.
    Petrov, Barrett, Thibaux and Klein (2006), "Learning accurate, compact, and interpretable tree
    annotation", ACL.
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL, 3.2, 4.3.

    Examples
    --------
    >>> from sklearn_cvb import CVBLatentPCFG
    >>> trees = [
    ...     "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    ...     "(S (NP (DT a) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    ... ]
    >>> model = CVBLatentPCFG(rare_threshold=0, random_state=0).fit(trees)
    >>> print(model.predict([["the", "cat", "ran"]])[0])
    (S (NP (DT the) (NN cat)) (VP (VBD ran)))
    """

    update: Annotated[str, StrOptions({"sequence", "token"})] = "sequence"

    _sweeps = CVB
    _in_place_of_leaving_out = "use VBLatentPCFG"
