"""Words known by their form alone: priors, starts and predictions, in every algorithm."""

import pickle

import numpy as np
import pytest
import restatement
import restatement_token
from estimators import fitted_counts
from form_restatement import plain_shares
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import make_problem
from sklearn_cvb import (
    CVBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMMTagger,
    Samples,
    Symbols,
    TagDictionary,
    VBHMMTagger,
    tag_dictionary_from,
)
from sklearn_cvb.chain.predictions.prediction import predicting_weights
from sklearn_cvb.chain.tags.word_forms import known_tags, only_beginning
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.metrics import relabel
from sklearn_cvb.reading.corpus import encode, read_ragged

TAGGERS = [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger]
SWEEPS = {
    EMHMMTagger: restatement.em_sweeps,
    VBHMMTagger: restatement.vb_sweeps,
    CVBHMMTagger: restatement.cvb_sequence_sweeps,
}
ALPHA, BETA, WEIGHT = 0.7, 0.2, 1.5
# What a form counts for beside the uses of its word, and how much less than counts of tags.
FORM_USES, FORM_WEIGHT = 5.0, 0.5

LISTED = {
    "the": {"D": 40},
    "dog": {"N": 3},
    "walked": {"V": 4, "N": 1},
    "talked": {"V": 1},
    "frog": ("N", "V"),
    "a": ("D",),
}
X = [["the", "log", "balked"], ["The", "frog", "walked", "dogs"], ["a", "balked", "log", "talked"]]
TAGS, WORDS = ["D", "N", "V"], sorted({word for row in X for word in row})
STATES = {tag: state for state, tag in enumerate(TAGS)}


def shares_of(word, only=None, begins=False):
    """Shares of a word's states, as a plain statement has them."""
    return plain_shares(word, known_tags(LISTED, STATES, {}, {}), 3, only, begins)


def plain_problem(weight=WEIGHT, only=None):
    """The text in numbers, with the prior that dictionary and forms amount to."""
    uses = {word: sum(row.count(word) for row in X) for word in WORDS}
    legal, beta = {}, np.full((3, len(WORDS) + 1), BETA)
    for symbol, word in enumerate(WORDS):
        entry = LISTED.get(word)
        if entry is None:
            shares = shares_of(word, only, begins=word == "The")
            for state, share in shares.items():
                total = BETA * len(shares) + weight * FORM_WEIGHT * (uses[word] + FORM_USES)
                beta[state, symbol] = total * share
            legal[symbol] = sorted(shares)
        else:
            legal[symbol] = sorted(STATES[tag] for tag in entry)
            if isinstance(entry, dict):
                for tag, seen in entry.items():
                    beta[STATES[tag], symbol] += weight * uses[word] * seen / sum(entry.values())
    symbols = [[WORDS.index(word) for word in row] for row in X]
    return make_problem(symbols, 3, len(WORDS) + 1, ALPHA, BETA, legal)._replace(beta=beta)


def start_of(problem):
    """Posteriors of all tokens over their legal tags."""
    rng = np.random.default_rng(0)
    q = [np.zeros((len(row), 3)) for row in problem.sequences]
    for table, row in zip(q, problem.allowed, strict=True):
        for t, states in enumerate(row):
            table[t, states] = rng.dirichlet(np.ones(len(states)))
    return q


@pytest.mark.many(usual=5)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("only", [None, [1, 2]])
@pytest.mark.parametrize("n_sweeps", [1, 4])
@pytest.mark.parametrize("kind", SWEEPS)
def test_sweeps_are_those_under_the_prior_of_the_forms(kind, n_sweeps, only):
    problem = plain_problem(only=only)
    q = start_of(problem)
    settings = {
        "alpha": ALPHA,
        "beta": BETA,
        "max_iter": n_sweeps,
    }
    tags = None if only is None else [TAGS[state] for state in only]
    listed = TagDictionary(LISTED, weight=WEIGHT, unknown_tags=tags)
    tagger = kind(listed, init=q, tol=0, **settings).fit(X)
    expected = SWEEPS[kind](problem, q, n_sweeps)
    counts = fitted_counts(tagger)
    np.testing.assert_allclose(counts.transition, expected.counts.transition, atol=1e-10)
    np.testing.assert_allclose(counts.emission, expected.counts.emission, atol=1e-10)
    assert tagger.history_[-1] == pytest.approx(expected.history[-1], abs=1e-9) or kind is (
        CVBHMMTagger
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_token_update_takes_the_same_prior():
    problem = plain_problem()
    q = start_of(problem)
    settings = {
        "alpha": ALPHA,
        "beta": BETA,
        "tag_dictionary": TagDictionary(LISTED, weight=WEIGHT),
        "max_iter": 3,
    }
    tagger = CVBHMMTagger(update="token", init=q, tol=0, **settings).fit(X)
    expected = restatement_token.cvb_token_sweeps(problem, q, 3)
    counts = fitted_counts(tagger)
    np.testing.assert_allclose(counts.emission, expected.counts.emission, atol=1e-10)


@pytest.mark.long
def test_samples_follow_the_exact_posterior():
    problem = plain_problem()
    settings = {"max_iter": 4000, "samples": Samples(100, thin=2, temperatures=None)}
    settings |= {
        "alpha": ALPHA,
        "beta": BETA,
        "tag_dictionary": TagDictionary(LISTED, weight=WEIGHT),
        "random_state": 0,
    }
    chain = GibbsHMMTagger(**settings).fit(X)
    exact = np.concatenate(brute.collapsed_posterior(problem).marginals)
    found = np.stack([(chain.samples_ == state).mean(axis=0) for state in range(3)], axis=1)
    assert np.abs(found - exact).max() < 0.03
    plain = problem._replace(beta=np.where(problem.beta == BETA, BETA, BETA + 0.1))
    assert np.abs(np.concatenate(brute.collapsed_posterior(plain).marginals) - exact).max() > 0.1


@pytest.mark.parametrize("kind", TAGGERS)
def test_unknown_words_are_predicted_by_their_form(kind):
    tagger = kind(LISTED, alpha=ALPHA, beta=BETA, max_iter=20, random_state=0).fit(X)
    emitted = tagger.counts_.emission.toarray().sum(axis=0) + tagger._learned.prior.emission_total
    rare = 0 if tagger._learned.unknown_word_counts is None else tagger._learned.unknown_word_counts
    words = ["chalked", "Dog", "bog", "A", "x"]
    for word, table in zip(words, tagger.predict_proba([[word] for word in words]), strict=True):
        weights = np.zeros(3)
        for state, share in shares_of(word, begins=True).items():
            weights[state] = predicting_weights(tagger._learned)[0].start[state] * share
        weights /= emitted + rare
        np.testing.assert_allclose(table[0], weights / weights.sum(), atol=1e-10)


def test_which_words_only_begin_sentences():
    rows = [["``", "(", "So", "So"], ["Now", "Then"], ["--", ",", "!", "Thus"], [None, "Yes"]]
    rows += [["Then"], ["4"], ["Yes"], [7, "No"]]
    words = sorted({word for row in rows for word in row if word is not None}, key=str)
    corpus = encode(read_ragged(rows), {word: i for i, word in enumerate(words)})
    begin = {word for word, only in zip(words, only_beginning(corpus, words), strict=True) if only}
    # Behind three marks nothing begins; a missing observation and a number are words.
    assert begin == {"Now", "!", "4", 7}


@pytest.mark.parametrize("kind", TAGGERS)
def test_a_prediction_depends_on_its_own_sentence_alone(kind):
    tagger = kind(LISTED, alpha=ALPHA, beta=BETA, max_iter=20, random_state=0).fit(X)
    rows = [["``", "Chalked"], ["the", "Chalked"], ["Chalked", "Chalked"], ["Frogs", "A", "Dog"]]
    together = tagger.predict_proba(rows)
    for row, table in zip(rows, together, strict=True):
        np.testing.assert_allclose(tagger.predict_proba([row])[0], table, atol=1e-14)
    # Inside a sentence its capital says more: "the" is of one tag.
    emitted = tagger.counts_.emission.toarray().sum(axis=0) + tagger._learned.prior.emission_total
    emitted = emitted + (
        0 if tagger._learned.unknown_word_counts is None else tagger._learned.unknown_word_counts
    )
    shares = np.array([shares_of("Chalked").get(state, 0) for state in range(3)])
    expected = predicting_weights(tagger._learned)[0].transition[0] * shares / emitted
    np.testing.assert_allclose(together[1][1], expected / expected.sum(), atol=1e-10)
    assert shares_of("Chalked") != pytest.approx(shares_of("Chalked", begins=True), abs=0.05)


@pytest.mark.parametrize("kind", TAGGERS)
def test_never_across_tags_that_are_ruled_out(kind):
    tagger = kind(TagDictionary(LISTED, unknown_tags=["N", "V"]), max_iter=10, random_state=0).fit(
        X
    )
    assert tagger.open_tags_.tolist() == ["N", "V"]
    table = tagger.predict_proba([["The", "A", "bogs"]])[0]
    assert (table[:, 0] == 0).all()
    by_word = dict(
        zip(tagger.vocabulary_.tolist(), tagger.counts_.emission.toarray(), strict=False)
    )
    assert by_word["The"][0] == 0


def test_the_dictionary_speaks_for_its_own_words_outside_the_text():
    listed = LISTED | {"trod": {"V": 1, "N": 9}, "hog": ("D", "N")}
    tagger = CVBHMMTagger(listed, alpha=ALPHA, beta=BETA, random_state=0).fit(X)
    shares, emitted = np.array([0, 0.9, 0.1]), tagger._learned.prior.emission_total
    emitted = (
        emitted
        + tagger.counts_.emission.toarray().sum(axis=0)
        + tagger._learned.unknown_word_counts
    )
    expected = tagger.startprob_ * shares / emitted
    (table,) = tagger.predict_proba([["trod"]])
    np.testing.assert_allclose(table[0], expected / expected.sum(), atol=1e-10)
    # Without counts half of the shares come from the form, half are equal.
    by_form = plain_shares("hog", known_tags(listed, STATES, {}, {}), 3)
    listed_part = np.array([by_form[0], by_form[1], 0])
    shares = 0.5 * listed_part / listed_part.sum() + np.array([0.25, 0.25, 0])
    expected = tagger.startprob_ * shares / emitted
    (table,) = tagger.predict_proba([["hog"]])
    np.testing.assert_allclose(table[0], expected / expected.sum(), atol=1e-10)


@pytest.mark.parametrize("kind", TAGGERS)
def test_tokens_that_are_no_strings_are_as_rare_ones(kind):
    rows = [[1, 2, 3], [1, 3, 4], [2, 2, 4]]
    settings = {"random_state": 0, "max_iter": 10}
    by_form = kind({1: ("D",), 2: {"N": 1, "V": 3}}, **settings).fit(rows)
    rare = kind(
        {1: ("D",), 2: {"N": 1, "V": 3}}, emission=Symbols(handle_unknown="rare"), **settings
    ).fit(rows)
    np.testing.assert_array_equal(by_form.counts_.transition, rare.counts_.transition)
    new = [[9, 1, 8], [(1, 2), None, 2]]
    for first, second in zip(by_form.predict_proba(new), rare.predict_proba(new), strict=True):
        np.testing.assert_array_equal(first, second)
    assert by_form.open_tags_.tolist() == by_form.classes_.tolist()


def test_strings_and_others_in_one_text():
    listed = {"walked": ("V",), "talked": ("V",), "dog": ("N",), 1: ("C",), 2: ("C",)}
    rows = [["dog", "walked", 1, 3], [2, "balked", None, "log"], [3, "dog", "talked", 2]]
    tagger = CVBHMMTagger(listed, random_state=0).fit(rows)
    assert tagger.open_tags_.tolist() == ["N", "V"]
    assert tagger.predict([["chalked", 7, "fog"]])[0][[0, 2]].tolist() == ["V", "N"]


def pocket(n=400):
    """Generated text, half of it to list words by; unlisted words are a few hundred."""
    text = make_pocket_english(n, random_state=0)
    half = n // 2
    listed = tag_dictionary_from(text.data[:half], text.target[:half], weights=True)
    return listed, text.data, text.target, half


def unknown_accuracy(listed, X, gold, found):
    return np.mean(
        [
            tag == true
            for words, trues, tags in zip(X, gold, found, strict=True)
            for word, true, tag in zip(words, trues, tags, strict=True)
            if word not in listed
        ]
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", TAGGERS)
def test_forms_help_unlisted_and_unknown_words(kind):
    listed, text, gold, half = pocket()
    raw, settings = text[half:], {"random_state": 0, "max_iter": 30}
    scores = {}
    for handled in ("rare", "form"):
        tagger = kind(listed, emission=Symbols(handle_unknown=handled), **settings)
        fitted = unknown_accuracy(listed, raw, gold[half:], tagger.fit_predict(raw))
        supervised = kind(emission=Symbols(handle_unknown=handled), **settings).fit(
            text[:half], gold[:half]
        )
        predicted = unknown_accuracy(listed, raw, gold[half:], supervised.predict(raw))
        scores[handled] = fitted, predicted
    print(kind.__name__, scores)
    assert np.subtract(scores["form"], scores["rare"]).min() > 0.05


@pytest.mark.long
def test_the_bound_never_falls():
    listed, text, _, half = pocket()
    tagger = VBHMMTagger(listed, random_state=0, tol=0, max_iter=60).fit(text[half:])
    assert np.diff(tagger.history_).min() > -1e-6 * abs(tagger.history_[-1])
    assert len(tagger.open_tags_) < len(tagger.classes_)


@pytest.mark.parametrize("kind", TAGGERS)
def test_shares_do_not_change_in_a_fit(kind):
    settings = {"random_state": 0, "warm_start": True}
    if kind is not GibbsHMMTagger:
        settings["tol"] = 0
    tagger = kind(LISTED, max_iter=4, **settings).fit(X)
    prior, counts = tagger._learned.prior, tagger.fit(X).counts_
    np.testing.assert_equal(prior[:-1], tagger._learned.prior[:-1])
    once = kind(LISTED, max_iter=8, **settings).fit(X)
    if kind is not GibbsHMMTagger:
        np.testing.assert_allclose(once.counts_.transition, counts.transition, rtol=1e-12)


@pytest.mark.long
def test_labels_without_a_dictionary_teach_forms():
    listed, text, gold, half = pocket()
    y = [*gold[:half], *[None] * half]
    settings = {"random_state": 0, "max_iter": 20}
    rare = CVBHMMTagger(emission=Symbols(handle_unknown="rare"), **settings).fit_predict(text, y)
    tagger = CVBHMMTagger(**settings)
    by_form = tagger.fit_predict(text, y)
    scores = [
        unknown_accuracy(listed, text[half:], gold[half:], found[half:])
        for found in (rare, by_form)
    ]
    print(scores)
    assert scores[1] > scores[0] + 0.1
    assert len(tagger.open_tags_) < len(tagger.classes_)
    # A label holds, also one of a closed tag at a word that nothing else is told of.
    closed = next(tag for tag in tagger.classes_ if tag not in tagger.open_tags_)
    changed = CVBHMMTagger(listed, **settings).fit([["zyx", "zyx"], *text], [[closed, None], *y])
    assert changed.labels_[0][0] == closed


@pytest.mark.parametrize("kind", [VBHMMTagger, CVBHMMTagger, GibbsHMMTagger])
def test_a_learned_beta_keeps_the_open_tags_alone(kind):
    listed = {word: tuple(entry) for word, entry in LISTED.items()}
    tagger = kind(listed, beta="auto", max_iter=25, random_state=0).fit(X)
    assert tagger.open_tags_.tolist() == ["D", "N", "V"]
    assert np.ptp(tagger._learned.prior.emission) == 0.0
    assert np.isfinite(tagger.objective_)


def test_contract():
    search = GridSearchCV(
        CVBHMMTagger(LISTED, supervision="none", random_state=0, max_iter=5),
        {"emission__handle_unknown": ["rare", "form"], "tag_dictionary__weight": [1.0, 3.0]},
        cv=2,
    )
    search.fit(X * 2, [["D", "N", "V"], ["D", "N", "V", "N"], ["D", "V", "N", "V"]] * 2)
    assert search.best_score_ > 0.3
    tagger = search.best_estimator_
    new = [["chalked", "the", "fogs"]]
    again = pickle.loads(pickle.dumps(tagger))
    np.testing.assert_array_equal(tagger.predict_proba(new)[0], again.predict_proba(new)[0])
    assert not hasattr(clone(tagger), "open_tags_")
    with pytest.raises(InvalidParameterError, match="handle_unknown"):
        CVBHMM(emission=Symbols(handle_unknown="form")).fit(X)
    with pytest.raises(InvalidParameterError, match="handle_unknown"):
        CVBHMMTagger(LISTED, emission=Symbols(handle_unknown="shape")).fit(X)


def test_other_names_for_tags_change_no_prediction():
    tagger = CVBHMMTagger(LISTED | {"trod": {"V": 1, "N": 9}}, random_state=0).fit(X)
    renamed = relabel(tagger, {"D": "det", "N": "noun", "V": "verb"})
    new = [["chalked", "trod", "the", "fogs"]]
    np.testing.assert_array_equal(tagger.predict_proba(new)[0], renamed.predict_proba(new)[0])
    assert renamed.open_tags_.tolist() == ["det", "noun", "verb"]
    other = relabel(CVBHMM(3, random_state=0).fit(X), ["x", "y", "z"])
    assert other.predict([["new", "the"]])[0][1] in {"x", "y", "z"}


def test_a_fit_that_fails_leaves_the_one_before_whole():
    tagger = CVBHMMTagger(LISTED, random_state=0).fit(X)
    before = tagger.predict_proba([["chalked"]])[0]
    with pytest.raises(ValueError, match="tag"):
        tagger.set_params(tag_dictionary={"a": ()}).fit([["a"]])
    np.testing.assert_array_equal(tagger.predict_proba([["chalked"]])[0], before)
