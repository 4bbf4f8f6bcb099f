"""`partial_fit` window by window against the scheme in plain words, and how it goes on."""

import pickle

import numpy as np
import pytest
from scipy.special import digamma

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    StepSizes,
    Symbols,
    Transitions,
    Windows,
    open_store,
    write_store,
)
from sklearn_cvb.streams import symbol_stream

MODELS = [EMHMM, VBHMM, CVBHMM]
WORDS, K = list("abcde"), 3
W = len(WORDS)
KNOWN = Symbols(vocabulary=WORDS, handle_unknown="error")
# Of the fit that a first batch gets.
SWEEPS = 3
# Long ones, short ones, and one that is exactly two windows long.
LENGTHS = [(350,), (120, 30, 200), (1, 99, 101)]
BORDER = 10


def drawn_batches(lengths=LENGTHS, seed=0, missing=0.0):
    """Sequences of a chain that stays a while where it is."""
    rng = np.random.default_rng(seed)
    batches = []
    for batch in lengths:
        rows = []
        for n in batch:
            states = np.cumsum(rng.random(n) < 0.2) % K
            row = [WORDS[(2 * z + int(rng.integers(0, 3))) % W] for z in states]
            rows.append([None if rng.random() < missing else word for word in row])
        batches.append(rows)
    return batches


def posteriors(batch, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.ones(K), len(row)) for row in batch]


class Plain:
    """Start (K,), transitions (K, K + 1), the last column for ends, and emissions (K, W)."""

    def __init__(self, start, transition, emission):
        self.start, self.transition, self.emission = start, transition, emission

    def __add__(self, other):
        mine, theirs = vars(self).values(), vars(other).values()
        return Plain(*(a + b for a, b in zip(mine, theirs, strict=True)))

    def __mul__(self, factor):
        return Plain(*(factor * table for table in vars(self).values()))


def nothing():
    return Plain(np.zeros(K), np.zeros((K, K + 1)), np.zeros((K, W)))


def fitted_counts(kind, X, **settings):
    """Those of EM under the prior, SWEEPS sweeps and one more, which is VB's own of VB."""
    usual = {"alpha": 0.7, "beta": 0.4, "emission": KNOWN, "random_state": 0, "tol": 0} | settings
    if kind is EMHMM:
        return plain_counts(EMHMM(K, max_iter=SWEEPS + 1, **usual).fit(X))
    ends = int("transitions" in usual)
    means = plain_counts(EMHMM(K, max_iter=SWEEPS, **usual).fit(X))
    weights = weights_of(means, kind is VBHMM, usual["alpha"], usual["beta"], ends)
    found = [window_counts(row, 0, len(row) + ends, ends, weights)[0] for row in X]
    return sum(found[1:], found[0])


def plain_counts(model):
    """Those of a model, in the order of WORDS."""
    counts, ends = model.counts_, model.end_counts_
    order = [list(model.vocabulary_).index(word) for word in WORDS]
    ends = np.zeros(K) if ends is None else ends
    transition = np.column_stack([counts.transition, ends])
    return Plain(counts.start, transition, counts.emission[order].T)


def weights_of(counts, is_vb, alpha, beta, ends):
    """Logs of exp E[log] or of means; cells without prior share one count of their row."""
    found = []
    for table, prior in (
        (counts.start[None], alpha or 1 / (K + ends)),
        (counts.transition[:, : K + ends], alpha or 1 / (K + ends)),
        (counts.emission, beta or 1 / W),
    ):
        cells = table + prior
        totals = cells.sum(axis=1, keepdims=True)
        found.append(digamma(cells) - digamma(totals) if is_vb else np.log(cells / totals))
    return found


def window_counts(row, b, e, ends, weights, error=""):
    """What is expected of the steps b..e - 1 of a sequence, and their log p given the border."""
    start, transition, log_emission = np.exp(weights[0]), np.exp(weights[1]), weights[2]
    # What is common to all states cancels, but in log p.
    common = log_emission.max(axis=0)
    emission = np.exp(log_emission - common)
    n = len(row) + ends
    first, last = max(b - BORDER, 0), min(e + BORDER, n)
    x = np.ones((last - first, K + ends))
    for t in range(first, last):
        if t == len(row):
            x[t - first, :K] = 0.0
        else:
            x[t - first, K:] = 0.0
            if row[t] is not None:
                x[t - first, :K] = emission[:, WORDS.index(row[t])]
    # Nothing leads out of the end.
    steps = np.vstack([transition, np.full((ends, K + ends), 1.0)])
    begins = np.append(start[0][:K], np.zeros(ends)) if first == 0 else np.ones(K + ends)
    forward, value = [begins * x[0]], 0.0
    for t in range(1, last - first):
        forward.append(forward[-1] / forward[-1].sum() @ steps * x[t])
    backward = [np.ones(K + ends)]
    for t in range(last - first - 1, 0, -1):
        message = steps @ (x[t] * backward[0])
        backward.insert(0, message / message.sum())
    counts = nothing()
    own = range(first, last) if error == "borders counted" else range(b, e)
    for t in own:
        q = forward[t - first] * backward[t - first]
        q = q[:K] / q.sum()
        if t < len(row) and row[t] is not None:
            counts.emission[:, WORDS.index(row[t])] += q
        if t == 0:
            counts.start += q
        if t > first:
            before = forward[t - 1 - first]
            pair = np.outer(before, x[t - first] * backward[t - first]) * steps
            pair = (pair / pair.sum())[:K]
            counts.transition[:, : K + ends] += pair
    for t in range(b, e):
        # Each forward message was divided by its sum before the next step.
        value += np.log(forward[t - first].sum())
        if t < len(row) and row[t] is not None:
            value += common[WORDS.index(row[t])]
    return counts, value


def windows_of(batch, ends, length=100):
    """Each sequence in equal parts of at most 100 steps."""
    for row in batch:
        n = len(row) + ends
        parts = -(-n // length)
        for i in range(parts):
            yield row, n * i // parts, n * (i + 1) // parts


def streamed(kind, batches, *, decay=0.6, offset=10.0, total=None, error="", **how):
    """Counts after every batch, and the last sum of log p."""
    alpha, beta, ends = how.get("alpha", 0.7), how.get("beta", 0.4), how.get("ends", 0)
    seen, n_rows, mass, states, value = 0, 0, 1.0, [], 0.0
    running, n_fitted = how.get("first"), how.get("n_fitted", sum(map(len, batches[0])))
    if running is None:
        names = {"alpha", "beta", "transitions"}
        running = fitted_counts(kind, batches[0], **{k: how[k] for k in names & how.keys()})
    is_vb = kind is VBHMM or error == "exp E[log] for means"
    for batch in batches:
        n_tokens, n_rows = seen + sum(map(len, batch)), n_rows + len(batch)
        after = n_tokens if total is None else n_tokens * total / n_rows
        running = running * (after / (mass if seen else n_fitted))
        mass, value = after, 0.0
        for row, b, e in windows_of(batch, ends, how.get("length", 100)):
            size = min(e, len(row)) - b
            seen += size
            if seen <= n_fitted:
                continue
            rho = max(size / seen, (offset + seen / size) ** -decay)
            if error == "no least step":
                rho = (offset + seen / size) ** -decay
            weights = weights_of(running, is_vb, alpha, beta, ends)
            own, log_p = window_counts(row, b, e, ends, weights, error)
            scale = 1.0 if error == "scale forgotten" else mass / size
            running = running * (1 - rho) + own * (rho * scale)
            value += log_p
        states.append(running)
    return states, value


def model_of(kind, **settings):
    usual = {"alpha": 0.7, "beta": 0.4, "emission": KNOWN, "random_state": 0}
    return kind(K, **usual | {"max_iter": SWEEPS, "tol": 0} | settings)


def differences(model, plain):
    """The largest difference of any count, of tables that hold hundreds."""
    pairs = zip(vars(plain_counts(model)).values(), vars(plain).values(), strict=True)
    return max(np.abs(mine - theirs).max() for mine, theirs in pairs)


STEPS = [(0.6, 10.0, None), (0.8, 0.0, 7), (1.0, 3.0, None)]


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("decay", "offset", "total"), STEPS)
def test_counts_are_those_of_the_scheme_in_plain_words(kind, decay, offset, total):
    batches = drawn_batches()
    model = model_of(kind, step_sizes=StepSizes(decay, offset=offset, total_samples=total))
    plain, _ = streamed(kind, batches, decay=decay, offset=offset, total=total)
    for batch, counts in zip(batches, plain, strict=True):
        assert differences(model.partial_fit(batch), counts) < 1e-9


@pytest.mark.parametrize("kind", MODELS)
def test_missing_observations_and_ends(kind):
    batches = drawn_batches(missing=0.3)
    ended = {"transitions": Transitions(end_state=True)}
    model = model_of(kind, step_sizes=StepSizes(0.6), **ended)
    for batch, counts in zip(batches, streamed(kind, batches, ends=1, **ended)[0], strict=True):
        assert differences(model.partial_fit(batch), counts) < 1e-9


def test_maximum_likelihood_meets_steps_that_no_window_has_used():
    batches = drawn_batches()
    model = model_of(EMHMM, alpha=0.0, beta=0.0, step_sizes=StepSizes(0.6))
    plain, _ = streamed(EMHMM, batches, alpha=0.0, beta=0.0)
    for batch, counts in zip(batches, plain, strict=True):
        assert differences(model.partial_fit(batch), counts) < 1e-9


@pytest.mark.parametrize(
    "error", ["borders counted", "scale forgotten", "no least step", "exp E[log] for means"]
)
def test_planted_errors_are_seen(error):
    batches = drawn_batches()
    model = model_of(CVBHMM, step_sizes=StepSizes(0.6, offset=100.0))
    plain, _ = streamed(CVBHMM, batches, offset=100.0, error=error)
    apart = [
        differences(model.partial_fit(batch), counts)
        for batch, counts in zip(batches, plain, strict=True)
    ]
    assert max(apart) > 0.1


def test_values_sum_what_each_window_met():
    batches = drawn_batches()[:2]
    n_first, n_tokens = (sum(map(len, batch)) for batch in batches)
    cvb, em = (model_of(kind, step_sizes=StepSizes(0.6)) for kind in (CVBHMM, EMHMM))
    _, value = streamed(CVBHMM, batches)
    for batch in batches:
        cvb.partial_fit(batch)
        em.partial_fit(batch)
    assert cvb.history_[-1] == cvb.loo_score_
    assert abs(cvb.loo_score_ - value / n_tokens) < 1e-12
    # As if all tokens were like those of the batch; maximum a posteriori: pseudo-counts times the
    # logs of the final parameters are added.
    value = streamed(EMHMM, batches, decay=0.6)[1] * (n_first + n_tokens) / n_tokens
    logs = 0.7 * np.log(np.vstack([em.startprob_, em.transmat_])).sum()
    logs += 0.4 * np.log(em.emissionprob_).sum()
    assert abs(em.objective_ - (value + logs)) < 1e-8


@pytest.mark.parametrize("kind", MODELS)
def test_a_long_first_batch_is_fitted_to_at_its_beginning(kind, monkeypatch):
    """Its first two windows; the others are steps."""
    monkeypatch.setattr(symbol_stream, "FITTED", 200)
    batches, settings = drawn_batches(), {"update": Windows(50)} if kind is CVBHMM else {}
    model = model_of(kind, step_sizes=StepSizes(0.6), **settings)
    length = 50 if settings else 100
    n_fitted = 200 if settings else 175
    first = fitted_counts(kind, [batches[0][0][:n_fitted]])
    plain, _ = streamed(kind, batches, first=first, n_fitted=n_fitted, length=length)
    for batch, counts in zip(batches, plain, strict=True):
        assert differences(model.partial_fit(batch), counts) < 1e-9


def test_a_short_first_batch_is_a_fit_with_its_restarts():
    batch = drawn_batches()[1]
    stream, fit = (model_of(EMHMM, n_init=5, max_iter=n, random_state=1) for n in (10, 11))
    assert differences(stream.partial_fit(batch), plain_counts(fit.fit(batch))) < 1e-9
    assert fit.restart_objectives_.argmax() > 0
    # The value of the last sweep, less what the next weights cost.
    assert abs(stream.objective_ - fit.objective_) < 1.0


def test_the_first_fit_stops_as_max_iter_says():
    batch = drawn_batches()[1]
    few, more = (model_of(CVBHMM, max_iter=n).partial_fit(batch) for n in (1, 20))
    assert differences(few, plain_counts(more)) > 10
    assert more.loo_score_ > few.loo_score_


def test_windows_say_how_long_they_are():
    batches = drawn_batches()
    model = model_of(CVBHMM, update=Windows(40), step_sizes=StepSizes(0.6))
    plain, _ = streamed(CVBHMM, batches, length=40)
    for batch, counts in zip(batches, plain, strict=True):
        assert differences(model.partial_fit(batch), counts) < 1e-9


@pytest.mark.parametrize("kind", MODELS)
def test_a_pickle_goes_on_to_the_same_bits_on_any_number_of_threads(kind):
    batches = drawn_batches()
    model = kind(K, random_state=0).partial_fit(batches[0])
    other = pickle.loads(pickle.dumps(model)).set_params(n_jobs=2)
    for batch in batches[1:]:
        model.partial_fit(batch)
        other.partial_fit(batch)
    for mine, theirs in zip(model.counts_, other.counts_, strict=True):
        assert (mine == theirs).all()
    assert (model.history_ == other.history_).all()


def test_what_float64_loses_is_inferred_in_log_space():
    """exp(digamma(1e-10)) is 0 in float64: words that come late have no weight in any state."""
    batches = drawn_batches([(130,), (250, 30)])
    batches[0] = [["a" if word in "cde" else word for word in batches[0][0]]]
    model = model_of(VBHMM, beta=1e-10, step_sizes=StepSizes(0.6))
    plain, value = streamed(VBHMM, batches, beta=1e-10)
    for batch, counts in zip(batches, plain, strict=True):
        assert differences(model.partial_fit(batch), counts) < 1e-8
    assert value < -1e10
    assert not len(model.unexplained_)


def test_steps_that_nothing_but_a_tiny_prior_allows_have_a_weight():
    """exp(digamma(1e-6)) and that of a row's total are 0 in float64, their ratio is not."""
    batches = drawn_batches([(1, 4, 1), (2, 130)])
    # Nothing leads out of states 1 and 2.
    first = [np.eye(K)[np.zeros(len(row), int)] for row in batches[0]]
    model = model_of(VBHMM, alpha=1e-6, step_sizes=StepSizes(1.0)).set_params(init=first)
    for batch, n_tokens in zip(batches, (6, 138), strict=True):
        model.partial_fit(batch)
        assert np.isfinite(model.history_).all()
        assert abs(model.counts_.emission.sum() - n_tokens) < 1e-9


@pytest.mark.parametrize(
    ("kind", "long", "short"), [(EMHMM, 0.7, 1.0), (VBHMM, 0.6, 1.0), (CVBHMM, 0.6, 0.8)]
)
def test_by_default_old_windows_fade_where_states_are_to_be_found_alone(kind, long, short):
    for lengths, decay in (((350, 20), long), ((20, 30, 40), short)):
        batches = drawn_batches([lengths, lengths])
        usual, same = (model_of(kind, step_sizes=steps) for steps in (None, StepSizes(decay)))
        for batch in batches:
            usual.partial_fit(batch)
            same.partial_fit(batch)
        assert (usual.counts_.transition == same.counts_.transition).all()


def test_by_default_nothing_fades_where_labels_name_states():
    batches = drawn_batches([(350,), (300,)])
    y = [[[0] + [-1] * (len(row) - 1) for row in batch] for batch in batches]
    usual, same = (
        VBHMM(K, random_state=0, supervision="y", step_sizes=steps)
        for steps in (None, StepSizes(1.0))
    )
    for batch, labels in zip(batches, y, strict=True):
        usual.partial_fit(batch, labels)
        same.partial_fit(batch, labels)
    assert (usual.counts_.transition == same.counts_.transition).all()


def test_where_states_are_named_a_batch_is_one_step():
    """Of a chain under a dictionary or labels: as one sweep of a fit."""
    legal = {"a": ["N"], "b": ["N", "V"], "c": ["V"], "d": ["N", "V"], "e": ["V"]}
    row = drawn_batches([(350,)])[0]
    y = [np.where(np.arange(350) % 3, -1, 1).tolist()]
    for kind, labels, settings in (
        (CVBHMMTagger, None, {"tag_dictionary": legal}),
        (CVBHMM, y, {"n_components": K, "supervision": "y"}),
    ):
        stream = kind(random_state=0, **settings).partial_fit(row, labels)
        fit = kind(random_state=0, max_iter=1, tol=0, **settings).fit(row, labels)
        assert (stream.counts_.transition == fit.counts_.transition).all()


def test_a_chain_keeps_to_its_topology():
    batches = drawn_batches([(350,), (300,)])
    cycle = np.eye(K, dtype=bool) | np.roll(np.eye(K, dtype=bool), 1, axis=1)
    model = EMHMM(K, transitions=cycle, random_state=0)
    for batch in batches:
        model.partial_fit(batch)
    assert (model.counts_.transition[~cycle] == 0).all()
    assert abs(model.counts_.transition.sum() + model.counts_.start.sum() - 650) < 1e-6


def test_a_store_is_gone_through_piece_by_piece(tmp_path):
    rows = drawn_batches([(20, 30, 120, 40, 15)])[0]
    tags = [["V" if word in "ce" else "N" for word in row] for row in rows]
    write_store([(rows, tags)], tmp_path / "store", tagged=True)
    store = open_store(tmp_path / "store", batch_size=60)
    pieces = store.pieces()
    assert len(pieces) > 2
    for kind, y in ((CVBHMM, None), (VBHMM, None), (CVBHMMTagger, tags)):
        settings = {"n_components": 3} if y is None else {"tag_dictionary": {"a": ["N", "V"]}}
        whole, plain = (kind(random_state=0, **settings) for _ in range(2))
        whole.partial_fit(store, None if y is None else store.tags)
        for a, b in pieces:
            plain.partial_fit(rows[a:b], None if y is None else y[a:b])
        assert whole.n_batches_seen_ == plain.n_batches_seen_ == len(pieces)
        for mine, theirs in zip(whole.counts_, plain.counts_, strict=True):
            assert abs(mine - theirs).max() == 0
    with pytest.raises(ValueError, match="5 sequences, and y is of 4"):
        CVBHMMTagger({"a": ["N"]}).partial_fit(store, tags[:4])


def test_two_passes_find_the_states_of_a_chain():
    """Of a well separated chain, as the warning for whole sequences asks for."""
    rng = np.random.default_rng(3)
    states = np.cumsum(rng.random(20_000) < 0.1) % K
    row = (states * 4 + rng.integers(0, 4, len(states))).tolist()
    found = [
        CVBHMM(K, random_state=seed, step_sizes=StepSizes(total_samples=1))
        .partial_fit([row])
        .partial_fit([row])
        for seed in range(5)
    ]
    best = max(found, key=lambda model: model.loo_score_)
    labels = best.predict([row])[0]
    table = np.zeros((K, K))
    np.add.at(table, (labels, states), 1)
    assert table.max(axis=1).sum() > 0.99 * len(row)
    assert abs(best.counts_.emission.sum() - 20_000) < 1e-6
