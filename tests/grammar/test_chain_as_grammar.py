"""A hidden Markov model is a grammar that branches to the right: CVB agrees sweep by sweep."""

import numpy as np

from sklearn_cvb import CVBPCFG, CVBHMMTagger, EMHMMTagger, Grammar, Symbols
from sklearn_cvb.chain.symbols import leave_out
from sklearn_cvb.grammar import inference as trees
from sklearn_cvb.grammar.grammar import Rule, TerminalRun
from sklearn_cvb.kernels.chain.leave_out import SWEEP

END, K, ALPHA, BETA = "</s>", 3, 0.4, 0.2


def chain_grammar(vocabulary):
    """Q_k -> E_j Q_j, Q_k -> </s>, E_j -> every word; the start symbol is Q_start."""
    symbols = [f"Q{k}" for k in range(K + 1)] + [f"E{j}" for j in range(K)]
    rules = []
    for k in range(K + 1):
        rules += [Rule(k, (K + 1 + j, 1 + j)) for j in range(K)]
        rules.append(Rule(k, (TerminalRun((END,)),)))
    rules += [Rule(K + 1 + j, (TerminalRun((word,)),)) for j in range(K) for word in vocabulary]
    return Grammar(symbols, 0, rules)


def weights_of(model, grammar, vocabulary):
    """The tagger's weights as those of the grammar's rules."""
    classes = model.classes_.tolist()
    states, end = [classes.index(k) for k in range(K)], classes.index(END)
    rows = np.vstack([model.startprob_, model.transmat_[states]])[:, [*states, end]]
    columns = [model.vocabulary_.tolist().index(word) for word in vocabulary]
    return np.concatenate([rows.ravel(), model.emissionprob_[np.ix_(states, columns)].ravel()])


def counts_as_rules(model, vocabulary):
    classes = model.classes_.tolist()
    states, end = [classes.index(k) for k in range(K)], classes.index(END)
    counts = model.counts_
    rows = np.vstack([counts.start, counts.transition[states]])[:, [*states, end]]
    emission = np.asarray(counts.emission.toarray()).T
    columns = [model.vocabulary_.tolist().index(word) for word in vocabulary]
    return np.concatenate([rows.ravel(), emission[np.ix_(states, columns)].ravel()])


def recorded_sweeps_of_trees(monkeypatch):
    """The log normalisers of every sweep over sentences."""
    sweep, calls = trees.leave_out_sweep, []

    def recording(problem, tally, shares, frozen):
        result = sweep(problem, tally, shares, frozen)
        if not frozen:
            calls.append(result[1].copy())
        return result

    monkeypatch.setattr(trees, "leave_out_sweep", recording)
    return calls


def recorded_sweeps(monkeypatch):
    """The log normalisers of every sweep over sequences."""
    make, calls = leave_out.make_pass, []

    def recording(steps, work):
        make(steps, work)
        if steps == SWEEP:
            calls.append(work.results.log_z.copy())

    monkeypatch.setattr(leave_out, "make_pass", recording)
    return calls


def test_hidden_markov_model_and_grammar_meet(monkeypatch):
    of_chain = recorded_sweeps(monkeypatch)
    of_tree = recorded_sweeps_of_trees(monkeypatch)
    rng = np.random.default_rng(0)
    words = ["u", "v", "w", "x"]
    X = [[words[w] for w in rng.integers(4, size=n)] + [END] for n in (4, 7, 5, 3, 6, 2)]
    # States sort before END, whose row is never left.
    vocabulary = sorted({*words, END})
    dictionary = {END: [END]} | {word: list(range(K)) for word in words}
    common = {
        "tag_dictionary": dictionary,
        "alpha": ALPHA,
        "beta": BETA,
        "emission": Symbols(handle_unknown="error"),
        "random_state": 3,
    }
    start = EMHMMTagger(**common, init="parameter", max_iter=2).fit(X)
    # The first weights of a model as init: its counts under the new prior.
    grammar = chain_grammar(vocabulary)
    alpha = dict.fromkeys(grammar.symbols[: K + 1], ALPHA) | dict.fromkeys(
        grammar.symbols[K + 1 :], BETA
    )
    # Transition rows have K + 1 cells in both: K states and the end.
    theta = weights_of(start, grammar, vocabulary)
    for n_sweeps in range(1, 6):
        settings = {"tol": 0, "max_iter": n_sweeps}
        chain = CVBHMMTagger(**common, init=start, **settings).fit(X)
        tree = CVBPCFG(grammar, alpha=alpha, init=theta, handle_unknown="error", **settings).fit(X)
        np.testing.assert_allclose(
            tree.counts_.rule, counts_as_rules(chain, vocabulary), rtol=0, atol=1e-10
        )
        # Sentence by sentence log Z differs by the log of END's emission of </s>, given all others.
        n_tokens, n, n_types = sum(map(len, X)), len(X), len(vocabulary)
        end = np.log((n - 1 + BETA) / (n - 1 + n_types * BETA))
        # A certain token's counts over the row are constant: a sweep adds their logs at its end.
        constant = chain.history_[-1] * n_tokens - of_chain[-1].sum()
        np.testing.assert_allclose(constant, n * np.log(n - 1 + BETA), rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            of_chain[-1] + np.log(n - 1 + BETA), of_tree[-1] + end, rtol=0, atol=1e-10
        )
        np.testing.assert_allclose(
            tree.history_[-1] * n_tokens, of_tree[-1].sum(), rtol=0, atol=1e-10
        )
