"""From a tiny problem to fitted estimators, and from these back to plain arrays."""

from dataclasses import replace

import numpy as np
import restatement
import restatement_token
from scipy.special import digamma

import sklearn_cvb
from sklearn_cvb import Symbols, Transitions

# Estimator prefix, constructor keywords, and the slow sweeps that must agree.
ALGORITHMS = {
    "em": ("EM", {}, restatement.em_sweeps),
    "vb": ("VB", {}, restatement.vb_sweeps),
    "cvb_sequence": ("CVB", {"update": "sequence"}, restatement.cvb_sequence_sweeps),
    "cvb_token": ("CVB", {"update": "token"}, restatement_token.cvb_token_sweeps),
}


def is_sampler(kind):
    """Whether an estimator samples: only these keep every so many sweeps."""
    return "samples" in kind._get_param_names()


def known_words(kind, **settings):
    """`vocabulary` and `handle_unknown` as an estimator takes them."""
    return {"emission": Symbols(**settings)} if "emission" in kind._get_param_names() else settings


def heeded(kind, settings):
    """Settings of a fit that an estimator has: samplers have no `tol`."""
    return {key: value for key, value in settings.items() if key != "tol" or not is_sampler(kind)}


def all_sweeps(kind):
    """Settings with which a fit runs all its sweeps, as samplers do anyway."""
    return {} if is_sampler(kind) else {"tol": 0}


def tag(state):
    """The tag of a state: sorted tags have the order of the states."""
    return f"t{state}"


def tag_dictionary(problem):
    """The problem's dictionary in tags."""
    return {symbol: [tag(k) for k in states] for symbol, states in problem.dictionary.items()}


def make_estimator(prefix, problem, **keywords):
    """An unfitted HMM, or tagger where the problem has a dictionary, with the problem's priors.

    `start_alpha` is always given, so that the start row may have a prior of its own.
    """
    transitions = Transitions.of(keywords.pop("transitions", None))
    if transitions.start_alpha is None and keywords.get("alpha") != "auto":
        transitions = replace(transitions, start_alpha=float(problem.alpha[-1].max()))
    settings = {
        "alpha": float(problem.alpha[0].max()),
        "transitions": transitions,
        "emission": Symbols(vocabulary=range(problem.n_symbols), handle_unknown="error"),
        "beta": float(problem.beta[0, 0]),
        "n_init": 1,
        "random_state": 0,
    }
    if problem.dictionary is None:
        settings["n_components"] = problem.n_states
        return getattr(sklearn_cvb, f"{prefix}HMM")(**settings | keywords)
    settings["tag_dictionary"] = tag_dictionary(problem)
    return getattr(sklearn_cvb, f"{prefix}HMMTagger")(**settings | keywords)


def fit_sweeps(name, problem, q, n_sweeps):
    """An estimator of `ALGORITHMS` after exactly this many sweeps from given posteriors."""
    prefix, keywords, _ = ALGORITHMS[name]
    keywords = keywords | {"init": q, "tol": 0, "max_iter": n_sweeps}
    return make_estimator(prefix, problem, **keywords).fit(problem.sequences)


def fitted_counts(estimator):
    """`counts_` as the restatements hold counts: (K + 1, K) and (K, W)."""
    counts = estimator.counts_
    emission = counts.emission
    if not isinstance(emission, np.ndarray):
        emission = emission.toarray()
    transition = np.vstack([counts.transition, counts.start])
    return restatement.Counts(transition, np.asarray(emission).T)


def posterior_means(estimator):
    """(K + 1, K) and (K, W) weights from the fitted probabilities."""
    transition = np.vstack([estimator.transmat_, estimator.startprob_])
    return transition, np.asarray(estimator.emissionprob_)


def exp_digamma(table):
    """exp E[log theta] of rows of Dirichlet parameters."""
    return np.exp(digamma(table) - digamma(table.sum(axis=1, keepdims=True)))


def prediction_weights(estimator, problem):
    """The weights of `predict`: exp-digamma of the final counts for VB, else posterior means."""
    if not type(estimator).__name__.startswith("VB"):
        return posterior_means(estimator)
    counts = fitted_counts(estimator)
    return (
        exp_digamma(counts.transition + problem.alpha),
        exp_digamma(counts.emission + problem.beta),
    )


def as_states(labels):
    """Predicted tags ("t2") or states (2) of one sequence, as integers."""
    return np.array([int(str(label).removeprefix("t")) for label in labels])


def asked_in_parts(model):
    """The module that lays out a model, and learns it, in parts, and what it is asked for."""
    return model._parts_module, model._part_settings()
