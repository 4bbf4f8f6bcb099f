"""Fits on real processes: the numbers of a fit here, for any number of workers."""

import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from interruption import Interrupt, watched
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_cvb import CVBHMM, EMHMM, EMPCFG, VBHMM, CVBHMMTagger, EMHMMTagger, GibbsHMM

pytest.importorskip("distributed")

import dask.bag
from dask import delayed
from distributed import Client, LocalCluster

from sklearn_cvb import Checkpoint, Symbols, TagDictionary
from sklearn_cvb.scale.dask.fitting import Partitions

pytestmark = pytest.mark.process

COMMON = {"max_iter": 4, "tol": 0, "random_state": 3}
LEGAL = {f"w{i}": ["AB"[i % 2], *("C" * (i % 3 == 0))] for i in range(12)}


def sentences(n=60):
    rng = np.random.default_rng(0)
    return [[f"w{i}" for i in rng.integers(12, size=k)] for k in rng.integers(1, 9, n)]


N_OBSERVED = sum(map(len, sentences()))


def bag(n):
    return dask.bag.from_sequence(sentences(), npartitions=n)


@pytest.fixture(scope="module")
def client():
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **settings) as cluster, Client(cluster) as client:
        yield client


def tables(model):
    emission = model.counts_.emission
    return [
        model.counts_.start,
        model.counts_.transition,
        emission if isinstance(emission, np.ndarray) else emission.toarray(),
    ]


@pytest.mark.parametrize(
    "plain", [EMHMM(3, **COMMON), VBHMM(3, **COMMON), EMHMMTagger(LEGAL, **COMMON)]
)
def test_em_and_vb_are_those_of_a_fit_here(client, plain):
    one, several = clone(plain).fit(bag(1)), clone(plain).fit(bag(5))
    plain.fit(sentences())
    assert np.array_equal(one.history_, plain.history_)
    for table, expected in zip(tables(one), tables(plain), strict=True):
        assert np.array_equal(table, expected)
    np.testing.assert_allclose(several.history_, plain.history_, rtol=1e-12)
    for table, expected in zip(tables(several), tables(plain), strict=True):
        np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12)


def test_the_number_of_workers_changes_no_digit(client):
    both = EMHMM(3, **COMMON).fit(bag(5))
    first = sorted(client.scheduler_info()["workers"])[:1]
    alive, Partitions._alive = Partitions._alive, lambda self: first
    try:
        one = EMHMM(3, **COMMON).fit(bag(5))
    finally:
        Partitions._alive = alive
    assert np.array_equal(both.history_, one.history_)
    assert np.array_equal(both.counts_.emission, one.counts_.emission)


@pytest.mark.parametrize(
    "plain",
    [
        CVBHMM(3, **COMMON),
        CVBHMMTagger(TagDictionary(LEGAL, denoise="none"), alpha="auto", **COMMON),
    ],
)
def test_cvb_counts_every_token(client, plain):
    one, several = clone(plain).fit(bag(1)), clone(plain).fit(bag(4))
    plain.fit(sentences())
    np.testing.assert_allclose(one.history_, plain.history_, rtol=1e-9)
    assert several.counts_.emission.sum() == pytest.approx(N_OBSERVED, rel=1e-12)
    assert several.objective_ == pytest.approx(plain.objective_, abs=0.05)
    assert several.alpha_ == pytest.approx(plain.alpha_, rel=0.2)


def test_grammars_learn_on_workers(client):
    plain = EMPCFG(n_components=3, **COMMON).fit(sentences())
    model = EMPCFG(n_components=3, **COMMON).fit(bag(3))
    np.testing.assert_allclose(model.history_, plain.history_, rtol=1e-12)
    np.testing.assert_allclose(model.counts_.rule, plain.counts_.rule, rtol=1e-10, atol=1e-12)


def test_labels_come_in_the_partitions_of_x(client):
    y = [[LEGAL[word][0] for word in s] if i % 3 == 0 else None for i, s in enumerate(sentences())]
    plain = EMHMMTagger(LEGAL, **COMMON).fit(sentences(), y)
    labels = dask.bag.from_sequence(y, npartitions=3)
    tagger = EMHMMTagger(LEGAL, **COMMON).fit(bag(3), labels)
    np.testing.assert_allclose(tagger.history_, plain.history_, rtol=1e-12)
    with pytest.raises(ValueError, match="y has 2 partitions and X 3"):
        tagger.fit(bag(3), dask.bag.from_sequence(y, npartitions=2))


def test_batches_after_a_fit_count_what_was_left_out_by_its_own_length(client):
    """Nothing goes back from B to A: long sequences have no path."""
    sequences = [list("ab"), list("abbabaabb"), list("aab"), list("ba")] * 3
    settings = {"tag_dictionary": {"a": ["A"], "b": ["B"]}, "transitions": "left-right", **COMMON}
    with pytest.warns(UserWarning, match="cannot be explained"):
        plain = EMHMMTagger(**settings).fit(sequences)
    with pytest.warns(UserWarning, match="cannot be explained"):
        tagger = EMHMMTagger(**settings).fit(dask.bag.from_sequence(sequences, npartitions=3))
    assert tagger._learned.seen_so_far[:3] == plain._learned.seen_so_far[:3] == (15, 6, 15.0)


def test_what_sequences_come_in(client, tmp_path):
    X = sentences()
    expected = EMHMM(2, **COMMON).fit(bag(2)).history_
    paths = []
    for i, part in enumerate([X[:30], X[30:]]):
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_text("\n".join(" ".join(sentence) for sentence in part) + "\n\n")
    for given in (
        [delayed(_lines)(path) for path in paths],
        [delayed(X[:30]), delayed([]), delayed(X[30:])],
        client.scatter([X[:30], X[30:]], hash=False),
    ):
        model = EMHMM(2, **COMMON).fit(given)
        np.testing.assert_allclose(model.history_, expected, rtol=1e-12)
    for given in (delayed(X), [bag(2), bag(2)]):
        with pytest.raises(TypeError, match="pass a dask bag"):
            model.fit(given)
    with pytest.raises(TypeError, match="pass it in the partitions of X"):
        EMHMMTagger(LEGAL).fit(bag(2), [None] * 60)


def _lines(path):
    with open(path, encoding="utf-8") as lines:
        return [line.split() for line in lines if line.strip()]


def test_nothing_is_computed_where_the_fit_is_called(client):
    """A bag can be read like a list, and would then be all in this process."""
    X, here = sentences(), os.getpid()

    def away(part):
        if os.getpid() == here:
            raise AssertionError("computed by the caller")
        return part

    away_bag = bag(3).map_partitions(away)
    column = [delayed(away)(part) for part in (X[:20], X[20:])]
    model, grammar = EMHMM(2, **COMMON), EMPCFG(n_components=2, max_iter=2, random_state=0)
    for given in (away_bag, column):
        for one in (model, grammar):
            one.fit(given)
            for method in ("predict", "predict_proba", "score_samples"):
                getattr(one, method)(given)
    assert len(model.predict(away_bag).compute()) == len(X)
    with pytest.raises(ValueError, match="GibbsHMM does not learn in shards: use EM, VB or CVB"):
        GibbsHMM(2).fit(away_bag)


def test_without_a_client_it_is_said_what_to_do():
    script = (
        "import dask.bag, sklearn_cvb; "
        "sklearn_cvb.EMHMM(2).fit(dask.bag.from_sequence([['a']], npartitions=1))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "there is no client: make one before the fit" in done.stderr


def test_a_series_of_lists(client):
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    with dask.config.set({"dataframe.convert-string": False}):
        column = frames.from_pandas(pandas.Series(sentences()), npartitions=2)
        model = EMHMM(2, **COMMON).fit(column)
        found = model.predict(column).compute()
        with pytest.raises(TypeError, match="frame with columns"):
            model.fit(column.to_frame("words"))
    np.testing.assert_allclose(
        model.history_, EMHMM(2, **COMMON).fit(sentences()).history_, rtol=1e-12
    )
    assert [len(states) for states in found] == [len(sentence) for sentence in sentences()]


def test_predictions_are_lazy_and_those_of_the_plain_estimator(client):
    model = EMHMM(2, **COMMON)
    with pytest.raises(NotFittedError):
        model.predict(bag(2))
    with pytest.raises(NotFittedError):
        model.score_samples(bag(2))
    model.fit(sentences()).fit(bag(3))
    assert not hasattr(model, "labels_")
    expected = {way: model.predict(sentences(), way) for way in ("viterbi", "marginal")}
    for way, states in expected.items():
        lazy = model.predict(bag(3), way)
        assert isinstance(lazy, dask.bag.Bag)
        assert all(map(np.array_equal, lazy.compute(), states))
    chances = model.predict_proba([delayed(sentences()[:9])])[0].compute()
    assert all(map(np.array_equal, chances, model.predict_proba(sentences()[:9])))
    for per in ("sequence", "token"):
        found = model.score_samples(bag(2), per).compute()
        assert np.array_equal(found, model.score_samples(sentences(), per))


def test_it_is_the_plain_estimator_that_is_fitted(client):
    with pytest.raises(ValueError, match="'alpha' parameter of CVBHMM"):
        CVBHMM(alpha=-1).fit(bag(2))
    fitted = CVBHMM(2, **COMMON).fit(bag(2))
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.history_, fitted.history_)
    assert len(pickle.dumps(fitted)) < 1.1 * len(pickle.dumps(CVBHMM(2, **COMMON).fit(sentences())))
    before = clone(fitted).fit(sentences())
    labels = before.labels_
    with pytest.raises(TypeError, match="is the string"):
        before.fit([delayed(["text"])])
    assert before.labels_ is labels
    assert np.array_equal(before.predict(sentences())[0], labels[0])


def test_messages_name_partition_and_sequence(client):
    broken = [delayed([["a", "b"]]), delayed([["a"], "text"])]
    with pytest.raises(TypeError, match=r"X\[1\] is the string 'text'"):
        EMHMM(2).fit(broken)
    for missing in (Symbols(handle_unknown="error"), Symbols()):
        with pytest.raises(ValueError, match="Found array with 0 sample"):
            EMHMM(2, emission=missing).fit([delayed([]), delayed([])])
    with pytest.raises(ValueError, match="no observed token"):
        EMHMM(2, emission=Symbols(handle_unknown="error")).fit([delayed([[None]])])
    with pytest.raises(ValueError, match="use update='sequence'"):
        CVBHMM(2, update="token").fit(bag(2))


def test_verbose_tells_of_rounds_and_workers(client, capsys):
    EMHMM(2, **COMMON, verbose=1).fit(bag(2))
    printed = capsys.readouterr().out
    assert "round" in printed
    assert "tokens/s" in printed


def test_warm_start_goes_on(client):
    plain = CVBHMM(3, **COMMON).fit(sentences())
    model = EMHMM(3, **{**COMMON, "max_iter": 2}, warm_start=True).fit(bag(3))
    model.fit(bag(3))
    whole = EMHMM(3, **COMMON).fit(sentences())
    assert np.allclose(model.history_, whole.history_[2:], rtol=1e-12)
    model = CVBHMM(3, **{**COMMON, "max_iter": 3}, warm_start=True).fit(bag(3))
    before = model.history_[-1]
    model.fit(bag(3))
    assert model.history_[-1] > before - 0.02
    assert model.counts_.emission.sum() == pytest.approx(N_OBSERVED, rel=1e-12)
    assert plain.n_iter_ == 4


@pytest.mark.parametrize("kind", [EMHMM, CVBHMM])
def test_ctrl_c_keeps_the_last_finished_sweep(client, kind):
    stopped = watched(kind(3, **COMMON), Interrupt(at=2))
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(bag(3))
    whole = kind(3, **COMMON | {"max_iter": 2}).fit(bag(3))
    assert np.array_equal(stopped.history_, whole.history_)
    assert not stopped.converged_
    assert all(map(np.array_equal, tables(stopped), tables(whole)))


def test_a_checkpoint_is_gone_on_from(client, tmp_path):
    settings = {**COMMON, "checkpoint": Checkpoint(str(tmp_path), every=1)}
    whole = EMHMM(3, **COMMON).fit(bag(3))

    class Died(Exception):
        pass

    ask = Partitions.ask

    def dying(self, name, *arguments):
        found = ask(self, name, *arguments)
        self.n_asked = getattr(self, "n_asked", 0) + 1
        if self.n_asked == 3:
            raise Died
        return found

    Partitions.ask = dying
    try:
        with pytest.raises(Died):
            EMHMM(3, **settings).fit(bag(3))
    finally:
        Partitions.ask = ask
    model = EMHMM(3, **settings, warm_start=True).fit(bag(3))
    assert np.array_equal(model.history_, whole.history_)
    assert np.array_equal(model.counts_.emission, whole.counts_.emission)


def _die_in_sweep(n_sweeps):
    """Have this process kill itself once a shard has swept, before it answers."""
    from sklearn_cvb.scale.parts import Shard

    sweep = Shard.sweep

    def dying(self, counts, terms):
        found = sweep(self, counts, terms)
        if terms.n_sweeps == n_sweeps:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    Shard.sweep = dying


def test_a_fit_survives_the_kill_of_a_worker(client, monkeypatch):
    undisturbed = CVBHMM(3, **COMMON).fit(bag(4))
    ask, sums = Partitions.ask, []

    def noting(self, name, *arguments):
        found = ask(self, name, *arguments)
        sums.append(found.counts.emission.sum())
        return found

    monkeypatch.setattr(Partitions, "ask", noting)
    before = set(client.scheduler_info()["workers"])
    client.run(_die_in_sweep, 2, workers=sorted(before)[:1])
    model = CVBHMM(3, **COMMON).fit(bag(4))
    assert not before <= set(client.scheduler_info()["workers"])
    # The start, four sweeps and the score.
    assert sums == pytest.approx([N_OBSERVED] * 6, rel=1e-12)
    assert np.array_equal(model.history_[:2], undisturbed.history_[:2])
    assert not np.array_equal(model.history_[2:], undisturbed.history_[2:])
    assert model.objective_ == pytest.approx(undisturbed.objective_, abs=0.05)
