"""`partial_fit` of hidden Markov models against the scheme in plain words, and growing layouts."""

import numpy as np
import pytest
from scipy.special import digamma

from benchmarks.enumeration.brute import marginals, pair_marginals
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    StepSizes,
    Symbols,
    TagDictionary,
    Transitions,
    VBHMMTagger,
    Windows,
    tag_dictionary_from,
)

MODELS = [EMHMM, VBHMM, CVBHMM]
TAGGERS = [EMHMMTagger, VBHMMTagger, CVBHMMTagger]
WORDS, K, ALPHA, BETA = list("abcde"), 2, 0.7, 0.4
# Batches of other sizes and lengths.
LENGTHS = [(3, 4, 2), (5, 2), (4,), (3, 3, 3, 4)]


def drawn_batches(seed=0):
    rng = np.random.default_rng(seed)
    return [[rng.choice(WORDS, n).tolist() for n in lengths] for lengths in LENGTHS]


def posteriors(batch, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.ones(K), len(row)) for row in batch]


class Plain:
    """Counts as (K + 1, K) transitions, the start row last, and (K, W) emissions."""

    def __init__(self, transition, emission):
        self.transition, self.emission = transition, emission

    def __add__(self, other):
        return Plain(self.transition + other.transition, self.emission + other.emission)

    def __mul__(self, factor):
        return Plain(factor * self.transition, factor * self.emission)


NOTHING = Plain(np.zeros((K + 1, K)), np.zeros((K, len(WORDS))))


def counted(row, q, pairs):
    counts = NOTHING * 1.0
    counts.transition[K] += q[0]
    counts.transition[:K] += pairs.sum(axis=0)
    for t, word in enumerate(row):
        counts.emission[:, WORDS.index(word)] += q[t]
    return counts


def independent(row, q):
    pairs = np.array([np.outer(*q[t : t + 2]) for t in range(len(q) - 1)]).reshape(-1, K, K)
    return counted(row, q, pairs)


def weights(counts, is_vb):
    """Of transitions and emissions; missing words of W are those not seen yet."""
    tables = []
    for table, prior in ((counts.transition, ALPHA), (counts.emission, BETA)):
        cells = table + prior
        totals = cells.sum(axis=1, keepdims=True)
        tables.append(np.exp(digamma(cells) - digamma(totals)) if is_vb else cells / totals)
    return tables


def inferred(row, transition, emission):
    codes = [WORDS.index(word) for word in row]
    found = (f(codes, transition, emission) for f in (marginals, pair_marginals))
    return counted(row, *found)


def batch_counts(kind, batch, running, first):
    """Counts of a batch, after `running` ones or from `first` posteriors."""
    if kind is not CVBHMM:
        before = sum(map(independent, batch, first), NOTHING) if running is None else running
        found = [inferred(row, *weights(before, kind is VBHMM)) for row in batch]
        return sum(found, NOTHING)
    if running is None:
        running, own = NOTHING, list(map(independent, batch, first))
    else:
        own = [inferred(row, *weights(running, False)) for row in batch]
    for i, row in enumerate(batch):
        others = sum(own[:i] + own[i + 1 :], running)
        own[i] = inferred(row, *weights(others, False))
    return sum(own, NOTHING)


def streamed(kind, batches, decay, offset, total_samples=None):
    """The running counts after every batch."""
    running, n_tokens, n_rows, mass, states = None, 0, 0, None, []
    for batch in batches:
        m = sum(map(len, batch))
        n_tokens, n_rows = n_tokens + m, n_rows + len(batch)
        after = n_tokens if total_samples is None else n_tokens * total_samples / n_rows
        rho = max(m / n_tokens, (offset + n_tokens / m) ** -decay)
        counts = batch_counts(kind, batch, running, posteriors(batches[0]))
        fresh = counts * (rho * after / m)
        running = fresh if running is None else running * ((1 - rho) * after / mass) + fresh
        mass = after
        states.append(running)
    return states


def model_of(kind, batches, **settings):
    usual = {
        "alpha": ALPHA,
        "beta": BETA,
        "emission": Symbols(vocabulary=WORDS, handle_unknown="error"),
        # Where labels may name states a batch is one step (else see `test_streams`).
        "supervision": "y",
    }
    return kind(K, init=posteriors(batches[0]), **usual | settings)


def assert_counts(model, plain, atol=1e-10):
    found = model.counts_
    order = [WORDS.index(word) for word in model.vocabulary_]
    assert np.allclose(found.start, plain.transition[K], atol=atol, rtol=0)
    assert np.allclose(found.transition, plain.transition[:K], atol=atol, rtol=0)
    assert np.allclose(found.emission, plain.emission[:, order].T, atol=atol, rtol=0)


@pytest.mark.many(usual=9)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("decay", "offset"), [(1.0, 10.0), (0.7, 0.0), (0.6, 2.5)])
@pytest.mark.parametrize("total_samples", [None, 30])
def test_running_counts_are_those_of_the_scheme(kind, decay, offset, total_samples):
    batches = drawn_batches()
    settings = {"step_sizes": StepSizes(decay, offset=offset, total_samples=total_samples)}
    model = model_of(kind, batches, **settings)
    for batch, plain in zip(
        batches, streamed(kind, batches, decay, offset, total_samples), strict=True
    ):
        assert_counts(model.partial_fit(batch), plain)
    assert model.n_batches_seen_ == len(batches)
    assert [len(row) for row in model.labels_] == [len(row) for row in batches[-1]]


@pytest.mark.parametrize("kind", MODELS)
def test_one_batch_is_one_sweep(kind):
    batch = drawn_batches()[3]
    one = model_of(kind, [batch]).partial_fit(batch)
    fit = model_of(kind, [batch], max_iter=1).fit(batch)
    for name in ("start", "transition", "emission"):
        left, right = getattr(one.counts_, name), getattr(fit.counts_, name)
        assert np.allclose(left, right, atol=1e-12, rtol=0), name
    assert one.objective_ == pytest.approx(fit.objective_, abs=1e-12)
    assert np.array_equal(np.concatenate(one.labels_), np.concatenate(fit.labels_))


@pytest.mark.parametrize("kind", MODELS)
def test_a_batch_after_a_fit_is_one_more(kind):
    """The fit stands for so many batches of the size of the next one."""
    first, second = drawn_batches()[3], drawn_batches()[0]
    settings = {"max_iter": 1, "step_sizes": StepSizes(0.6, offset=1.0)}
    after = model_of(kind, [first], **settings).fit(first).partial_fit(second)
    stream = model_of(kind, [first], **settings).partial_fit(first).partial_fit(second)
    assert np.allclose(after.counts_.transition, stream.counts_.transition, atol=1e-12, rtol=0)
    assert (after.n_batches_seen_, stream.n_batches_seen_) == (1, 2)


@pytest.mark.parametrize("kind", MODELS)
def test_the_order_of_batches_changes_little_where_all_counts_count_alike(kind):
    rng = np.random.default_rng(5)
    rows = [(["a", "b"] * 4)[i % 2 :] + ["c"] * (rng.random() < 0.3) for i in range(60)]
    batches = [rows[i : i + 10] for i in range(0, 60, 10)]
    both = []
    for order in (batches, batches[:1] + batches[:0:-1]):
        model = kind(2, alpha=0.1, beta=0.1, step_sizes=StepSizes(1.0), random_state=0)
        for batch in order:
            model.partial_fit(batch)
        both.append(model)
    assert np.isclose(both[0].counts_.emission.sum(), both[1].counts_.emission.sum())
    assert np.abs(both[0].transmat_ - both[1].transmat_).max() < 0.02
    assert both[0].perplexity(rows) == pytest.approx(both[1].perplexity(rows), rel=0.02)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", MODELS)
def test_a_vocabulary_that_grew_is_one_that_was_given_but_for_unseen_words(kind):
    """With hardly any prior on emissions a word that has not come yet takes no share."""
    batches = [[["a", "b", "a"], ["b", "a"]], [["b", "a"], ["a", "b", "b"]], [["a", "c", "b"]]]
    settings = {"alpha": 0.5, "beta": 1e-9, "random_state": 0, "init": posteriors(batches[0])}
    grown, given = (
        kind(2, emission=Symbols(vocabulary, handle_unknown="error"), **settings)
        for vocabulary in (None, ["a", "b", "c"])
    )
    for batch in batches:
        grown.partial_fit(batch)
        given.partial_fit(batch)
    assert grown.vocabulary_.tolist() == ["a", "b", "c"]
    assert np.allclose(grown.counts_.emission, given.counts_.emission, atol=1e-6)
    assert np.allclose(grown.transmat_, given.transmat_, atol=1e-6)


@pytest.mark.many(usual=7)
@pytest.mark.parametrize(
    ("kind", "pseudo_count"),
    [*((kind, 0.0) for kind in [*MODELS, *TAGGERS]), (EMHMM, 0.1), (EMHMMTagger, 0.1)],
)
@pytest.mark.parametrize("topology", ["full", "left-right", "constant", "independent"])
def test_rows_sum_to_1_whatever_words_come(kind, pseudo_count, topology):
    """Also those of states that nothing has been counted of."""
    settings = {"transitions": topology, "random_state": 0}
    if kind in TAGGERS:
        settings["tag_dictionary"] = {"a": ["A"], "b": ["A", "B"], "z": ["C"]}
    else:
        settings["n_components"] = 3
    if kind in (EMHMM, EMHMMTagger):
        settings |= {"alpha": pseudo_count, "beta": pseudo_count}
    model = kind(**settings)
    for batch in ([["a"], ["b"], ["c"]], [["d"], ["e"], ["f"]], [["a", "g"], ["h", "b", "i"]]):
        model.partial_fit(batch)
        np.testing.assert_allclose(model.startprob_.sum(), 1.0)
        np.testing.assert_allclose(model.transmat_.sum(axis=1), 1.0)
        np.testing.assert_allclose(model.emissionprob_.sum(axis=1), 1.0)
        assert model.emissionprob_.shape[1] == len(model.vocabulary_) + 1


@pytest.mark.parametrize("kind", [EMHMM, EMHMMTagger])
def test_maximum_likelihood_learns_words_and_steps_that_are_new(kind):
    legal = {"a": ["X"], "b": ["Y"], "c": ["X", "Y"], "d": ["X", "Y"]}
    settings = {"tag_dictionary": legal} if kind is EMHMMTagger else {"n_components": 2}
    model = kind(random_state=0, **settings).partial_fit([["a", "b", "a", "b"]] * 3)
    model.partial_fit([["a", "a", "c", "d"], ["b", "b", "c"]])
    assert not len(model.unexplained_)
    assert model.counts_.emission.sum() == pytest.approx(19)
    assert np.isfinite(model.score_samples([["a", "a", "c", "d"], ["b", "b", "c"]])).all()


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "settings",
    [
        {"transitions": "left-right"},
        {"transitions": "independent"},
        {"transitions": "constant"},
        {"transitions": Transitions(end_state=True)},
        {"transitions": Transitions("left-right", end_state=True)},
        {"emission": Symbols(handle_unknown="rare")},
        {"emission": Symbols(vocabulary=["a", "b"], handle_unknown="smooth")},
        {"supervision": "y"},
    ],
)
def test_other_settings_stream(kind, settings):
    model = kind(3, random_state=0, step_sizes=StepSizes(0.7, offset=0.0), **settings)
    seen = 0
    for batch in drawn_batches():
        y = [[0] + [None] * (len(row) - 1) for row in batch] if "supervision" in settings else None
        model.partial_fit(batch, y)
        seen += sum(map(len, batch))
        assert model.counts_.emission.sum() == pytest.approx(seen)
        assert np.isfinite(model.score(batch))
        assert model.predict_proba(batch)[0].shape == (len(batch[0]), 3)
    transitions = Transitions.of(settings.get("transitions"))
    if transitions.topology == "left-right":
        assert not np.tril(model.counts_.transition, -1).any()
    if transitions.end_state:
        assert np.all(model.endprob_ > 0)
    if "supervision" in settings:
        assert all(row[0] == 0 for row in model.labels_)


def test_where_a_batch_is_one_step_the_first_is_swept_over_after_a_fit():
    """Of EM, to sentences without any names of states."""
    batches = [[(["a", "b"] * 4)[i % 2 :] for i in range(n)] for n in (6, 3)]
    model = CVBHMM(2, update="token", random_state=0).partial_fit(batches[0])
    assert set(model.emissionprob_[:, :2].argmax(axis=1)) == {0, 1}
    assert model.transmat_.diagonal().max() < 0.1
    n_tokens = sum(map(len, batches[0]))
    assert model.counts_.emission.sum() == pytest.approx(n_tokens)
    once = CVBHMM(2, update="token", random_state=0, max_iter=1, tol=0).fit(batches[0])
    assert once.transmat_.diagonal().max() > 0.1
    assert model.partial_fit(batches[1]).n_batches_seen_ == 2


@pytest.mark.parametrize("more", [{"update": "token"}, {"update": Windows(2)}])
def test_every_way_to_leave_out_streams(more):
    model = CVBHMM(2, random_state=0, **more)
    for batch in drawn_batches():
        model.partial_fit(batch)
    assert model.counts_.emission.sum() == pytest.approx(sum(map(sum, LENGTHS)))


def test_missing_observations_stream():
    model = VBHMM(2, random_state=0).partial_fit([["a", None, "b"]])
    model.partial_fit([[None, "c"], ["a", "b", None]])
    assert model.counts_.emission.sum() == pytest.approx(5)
    assert model.counts_.start.sum() == pytest.approx(3)


@pytest.mark.parametrize("kind", MODELS)
def test_words_seen_once_in_all_batches_stand_for_unknown_ones(kind):
    model = kind(2, emission=Symbols(handle_unknown="rare"), random_state=0)
    model.partial_fit([["a", "b", "c"], ["a", "d"]]).partial_fit([["b", "c", "e"]])
    once = [list(model.vocabulary_).index(word) for word in "de"]
    assert np.allclose(
        model._learned.unknown_word_counts, model.counts_.emission[once].mean(axis=0)
    )


# Taggers

TEXT = [
    ("the dog saw a duck", "DET NOUN VERB DET NOUN"),
    ("they can duck", "PRON AUX VERB"),
    ("the duck swims", "DET NOUN VERB"),
    ("they saw the saw", "PRON VERB DET NOUN"),
    ("a dog can saw", "DET NOUN AUX VERB"),
    ("they duck", "PRON VERB"),
    ("the can saw a dog", "DET NOUN VERB DET NOUN"),
    ("a duck can swims", "DET NOUN AUX VERB"),
]
SENTENCES, TAGS = ([row[i].split() for row in TEXT] for i in (0, 1))
LEGAL = tag_dictionary_from(SENTENCES, TAGS, weights=False)
SHARES = tag_dictionary_from(SENTENCES, TAGS, weights=True)


@pytest.mark.parametrize("kind", TAGGERS)
@pytest.mark.parametrize("legal", [LEGAL, SHARES])
def test_entries_of_the_dictionary_hold_for_words_that_come_later(kind, legal):
    model = kind(legal, supervision="none", random_state=0).partial_fit(SENTENCES[:2])
    assert "swims" not in model.vocabulary_
    model.partial_fit(SENTENCES[2:5], TAGS[2:5]).partial_fit(SENTENCES[5:])
    assert model.coverage_ == (1.0, 1.0)
    proba = dict(zip(model.vocabulary_, model.counts_.emission.toarray(), strict=False))
    for word, row in proba.items():
        allowed = {str(tag) for tag in model.classes_[row > 0]}
        assert allowed <= set(legal[word]), word
    assert model.counts_.emission.sum() == pytest.approx(sum(map(len, SENTENCES)))


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", TAGGERS)
@pytest.mark.parametrize("handled", ["form", "rare", "smooth"])
@pytest.mark.parametrize("y", [None, TAGS])
def test_the_layout_after_batches_expects_what_a_fit_to_all_expects(kind, handled, y):
    """Cells, and what dictionary and labels make of their prior; forms as of the first batch."""
    legal = {word: entry for word, entry in SHARES.items() if word not in ("saw", "swims")}
    settings = {"emission": Symbols(handle_unknown=handled), "random_state": 0}
    dictionary = TagDictionary(legal, denoise="none")
    whole = kind(dictionary, **settings).fit(SENTENCES, y)
    stream = kind(dictionary, **settings)
    for some in (slice(0, 4), slice(4, 6), slice(6, 8)):
        stream.partial_fit(SENTENCES[some], None if y is None else y[some])
    places = [list(stream.vocabulary_).index(word) for word in whole.vocabulary_]
    assert sorted(stream.vocabulary_) == list(whole.vocabulary_)
    expected = [model._learned.layout.tag_prior.expected_counts for model in (whole, stream)]
    cut = [
        np.split(values, model._learned.layout.indptr[1:-1])
        for values, model in zip(expected, (whole, stream), strict=True)
    ]
    for word, place in enumerate(places):
        if whole.vocabulary_[word] in legal:
            assert np.allclose(cut[0][word], cut[1][place], equal_nan=True)
    if y is not None:
        known = [set(m.vocabulary_[m._learned.words.labelled]) for m in (whole, stream)]
        assert known[0] == known[1] == set(whole.vocabulary_)
        assert np.array_equal(np.concatenate(stream.labels_), np.concatenate(TAGS[6:]))


@pytest.mark.parametrize("kind", TAGGERS)
def test_labels_may_overrule_the_dictionary_in_any_batch(kind):
    model = kind(LEGAL, random_state=0).partial_fit(SENTENCES[:4])
    with pytest.warns(UserWarning, match="1 labels are not in tag_dictionary"):
        model.partial_fit([["they", "duck", "fish"]], [["NOUN", None, None]])
    model.partial_fit(SENTENCES[4:])
    row = model.counts_.emission[[list(model.vocabulary_).index("they")]].toarray()[0]
    assert set(model.classes_[row > 0]) == {"NOUN", "PRON"}
    # Elsewhere the dictionary holds.
    assert model.predict([["they", "duck"]])[0][0] == "PRON"


@pytest.mark.parametrize("kind", TAGGERS)
def test_other_tags_are_refused_and_nothing_has_changed(kind):
    model = kind(n_components=None, random_state=0).partial_fit(SENTENCES[:4], TAGS[:4])
    before = model.counts_.transition.copy(), model.vocabulary_.tolist()
    with pytest.raises(ValueError, match=r"tags of the first call.*'ADV', 'sequence 0, position 1"):
        model.partial_fit([["they", "soon"]], [["PRON", "ADV"]])
    assert np.array_equal(model.counts_.transition, before[0])
    assert model.vocabulary_.tolist() == before[1]
    assert model.partial_fit(SENTENCES[4:], TAGS[4:]).n_batches_seen_ == 2


def test_forms_tell_of_later_words_that_no_entry_has():
    legal = {f"{stem}ing": ["V"] for stem in ("walk", "talk", "read", "sing")}
    legal |= {f"{stem}ness": ["N"] for stem in ("dark", "sad", "happi", "good")} | {"the": ["D"]}
    model = VBHMMTagger(legal, random_state=0, alpha=1.0, beta=0.03)
    model.partial_fit([["the", "darkness", "walking"], ["reading", "the", "sadness"]])
    model.partial_fit([["the", "kindness", "jumping"], ["eating", "the", "madness"]])
    assert [row.tolist() for row in model.labels_] == [["D", "N", "V"], ["V", "D", "N"]]
    assert model.tag_sources([["kindness"]])[0][0] == "form"
    model.partial_fit([["the", "kindness", "jumping"]])
    assert model.counts_.emission.sum() == pytest.approx(15)
