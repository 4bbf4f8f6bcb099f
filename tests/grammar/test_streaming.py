"""`partial_fit` of grammars against the scheme over all trees, and growing vocabularies."""

import numpy as np
import pytest
import restatement_pcfg as plain
from scipy.special import digamma

from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, Grammar, StepSizes

GRAMMARS = [EMPCFG, VBPCFG, CVBPCFG]
TEXT = """
S -> A B | A B B | B
A -> 'the' | 'they' | A B
B -> 'dog' | 'saw' | 'duck' | B A
"""
ALPHA = 0.3
BATCHES = [
    [["the", "dog"], ["they", "saw", "duck"], ["dog"]],
    [["the", "duck", "saw"], ["they", "dog", "the", "duck"]],
    [["saw", "the", "dog"]],
]
START = np.random.default_rng(3).uniform(0.5, 1.5, 10)


def weights(kind, grammar, counts):
    cells = counts + ALPHA
    if kind is VBPCFG:
        return np.exp(digamma(cells) - digamma(plain.by_owner(grammar, cells)))
    return plain.normalised(grammar, cells)


def collapsed(grammar, tables, running, own):
    """Each sentence from the running counts and those of the batch's others."""
    for i, table in enumerate(tables):
        others = running + own.sum(axis=0) - own[i]
        own[i] = plain.expected([table], weights(CVBPCFG, grammar, others))[0][0]
    return own.sum(axis=0)


def streamed(kind, grammar, batches, decay, offset, total_samples):
    """The running counts after every batch."""
    running, n_tokens, n_rows, mass, found = np.zeros(len(grammar.rules)), 0, 0, 1.0, []
    for batch in batches:
        tables, m = plain.frequencies(grammar, batch), sum(map(len, batch))
        n_tokens, n_rows = n_tokens + m, n_rows + len(batch)
        after = n_tokens if total_samples is None else n_tokens * total_samples / n_rows
        rho = max(m / n_tokens, (offset + n_tokens / m) ** -decay)
        kept, fresh = (1 - rho) * after / mass, rho * after / m
        # Weights of symbols without prior would be kept, but here is one.
        theta = weights(kind, grammar, running) if found else plain.normalised(grammar, START)
        own = np.array(plain.expected(tables, theta)[0])
        if kind is CVBPCFG:
            counts = collapsed(grammar, tables, running, own)
        elif found:
            counts = own.sum(axis=0)
        else:
            theta = weights(kind, grammar, own.sum(axis=0))
            counts = sum(plain.expected(tables, theta)[0])
        running, mass = kept * running + fresh * counts, after
        found.append(running)
    return found


@pytest.mark.parametrize("kind", GRAMMARS)
@pytest.mark.parametrize(("decay", "offset"), [(1.0, 10.0), (0.7, 0.0)])
@pytest.mark.parametrize("total_samples", [None, 40])
def test_running_counts_are_those_of_the_scheme(kind, decay, offset, total_samples):
    grammar = Grammar.from_text(TEXT)
    settings = {"step_sizes": StepSizes(decay, offset=offset, total_samples=total_samples)}
    model = kind(TEXT, alpha=ALPHA, init=START, **settings)
    found = streamed(kind, grammar, BATCHES, decay, offset, total_samples)
    for batch, counts in zip(BATCHES, found, strict=True):
        model.partial_fit(batch)
        assert np.allclose(model.counts_.rule, counts, atol=1e-10, rtol=0)
    assert [tree.leaves() for tree in model.labels_] == BATCHES[-1]
    assert model.n_batches_seen_ == 3


@pytest.mark.parametrize("kind", GRAMMARS)
@pytest.mark.parametrize("grammar", [None, TEXT])
def test_one_batch_is_one_sweep(kind, grammar):
    one = kind(grammar, random_state=0).partial_fit(BATCHES[0])
    fit = kind(grammar, random_state=0, max_iter=1).fit(BATCHES[0])
    assert np.allclose(one.counts_.rule, fit.counts_.rule, atol=1e-12, rtol=0)
    assert one.objective_ == pytest.approx(fit.objective_, abs=1e-12)
    after = [model.partial_fit(BATCHES[1]).counts_.rule for model in (one, fit)]
    assert np.allclose(*after, atol=1e-12, rtol=0)
    assert (one.n_batches_seen_, fit.n_batches_seen_) == (2, 1)


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("kind", GRAMMARS)
@pytest.mark.parametrize("rules", ["full", "independent"])
@pytest.mark.parametrize("handled", ["smooth", "rare", "error"])
def test_new_words_get_rules_and_old_rules_keep_their_counts(kind, rules, handled):
    settings = {"n_components": 3, "rules": rules, "handle_unknown": handled, "random_state": 0}
    model = kind(**settings)
    n_tokens = 0
    for batch in (BATCHES[0], [["a", "dog", "swims"], ["they", "swim"]], BATCHES[1]):
        model.partial_fit(batch)
        n_tokens += sum(map(len, batch))
        words = [any(isinstance(item, tuple) for item in rule.right) for rule in model.rules_.rules]
        assert model.counts_.rule[words].sum() == pytest.approx(n_tokens)
        assert np.isfinite(model.score(batch))
        assert not len(model.unexplained_)
    assert model.vocabulary_.tolist()[-3:] == ["a", "swim", "swims"]
    assert model.rule_probabilities_.sum() == pytest.approx(len(model.rules_.symbols))


@pytest.mark.parametrize("kind", GRAMMARS)
def test_a_given_vocabulary_stays(kind):
    model = kind(n_components=2, vocabulary=["the", "dog", "they"], random_state=0)
    for batch in BATCHES:
        model.partial_fit(batch)
    assert model.vocabulary_.tolist() == ["the", "dog", "they"]
    assert np.isfinite(model.score(BATCHES[1]))


@pytest.mark.parametrize("kind", GRAMMARS)
def test_known_brackets_teach_in_every_batch(kind):
    model = kind(n_components=3, random_state=0)
    for batch in BATCHES[:2]:
        left = [f"(S {'(X ' * (len(row) - 1)}" for row in batch]
        trees = []
        for row, begin in zip(batch, left, strict=True):
            body = begin + row[0] + "".join(f" {word})" for word in row[1:]) + ")"
            trees.append(body)
        model.partial_fit(batch, trees)
    for tree, row in zip(model.labels_, BATCHES[1], strict=True):
        spans = {tuple(node.leaves()) for node in tree.subtrees()}
        assert all(tuple(row[:n]) in spans for n in range(2, len(row) + 1))


def test_another_grammar_is_refused():
    model = EMPCFG(TEXT).partial_fit(BATCHES[0])
    model.set_params(grammar=TEXT + "B -> 'it'")
    with pytest.raises(ValueError, match="grammar has changed"):
        model.partial_fit(BATCHES[1])


def test_stepwise_em_in_fit_and_batches_go_together():
    model = EMPCFG(TEXT, update="sequence", max_iter=3, random_state=0).fit(BATCHES[0])
    model.partial_fit(BATCHES[1])
    assert model.n_batches_seen_ == 1
    assert np.isfinite(model.objective_)


def test_rules_that_no_batch_has_used_can_be_used_later():
    """Without a prior a rule without counts has no weight."""
    model = EMPCFG("S -> A | B\nA -> 'a'\nB -> 'b'").partial_fit([["a"], ["a"]])
    assert model.counts_.rule.tolist() == [2, 0, 2, 0]
    model.partial_fit([["b"]])
    assert model.counts_.rule.tolist() == pytest.approx([2, 1, 2, 1])
