"""Fits on real processes: the numbers of the plain estimator, for any number of workers."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_cvb import CVBHMM, EMHMM, EMPCFG, VBHMM, CVBHMMTagger, EMHMMTagger

pytest.importorskip("distributed")

import dask.bag
from dask import delayed
from distributed import Client, LocalCluster

from sklearn_cvb.distributed import (
    DistributedCVBHMM,
    DistributedCVBHMMTagger,
    DistributedEMHMM,
    DistributedEMHMMTagger,
    DistributedEMPCFG,
    DistributedVBHMM,
)
from sklearn_cvb.distributed.asking import OnWorkers

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
    ("plain", "kind"),
    [
        (EMHMM(3, **COMMON), DistributedEMHMM),
        (VBHMM(3, **COMMON), DistributedVBHMM),
        (EMHMMTagger(LEGAL, **COMMON), DistributedEMHMMTagger),
    ],
)
def test_em_and_vb_are_those_of_the_plain_estimator(client, plain, kind):
    plain.fit(sentences())
    parameters = plain.get_params()
    one = kind(**parameters, client=client).fit(bag(1))
    assert np.array_equal(one.history_, plain.history_)
    for table, expected in zip(tables(one), tables(plain), strict=True):
        assert np.array_equal(table, expected)
    several = kind(**parameters, client=client).fit(bag(5))
    np.testing.assert_allclose(several.history_, plain.history_, rtol=1e-12)
    for table, expected in zip(tables(several), tables(plain), strict=True):
        np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12)


def test_the_number_of_workers_changes_no_digit(client):
    both = DistributedEMHMM(3, **COMMON).fit(bag(5))
    first = sorted(client.scheduler_info()["workers"])[:1]
    alive, OnWorkers._alive = OnWorkers._alive, lambda self: first
    try:
        one = DistributedEMHMM(3, **COMMON).fit(bag(5))
    finally:
        OnWorkers._alive = alive
    assert np.array_equal(both.history_, one.history_)
    assert np.array_equal(both.counts_.emission, one.counts_.emission)


@pytest.mark.parametrize(
    ("plain", "kind"),
    [
        (CVBHMM(3, **COMMON), DistributedCVBHMM),
        (CVBHMMTagger(LEGAL, alpha="auto", denoise="none", **COMMON), DistributedCVBHMMTagger),
    ],
)
def test_cvb_counts_every_token(client, plain, kind):
    plain.fit(sentences())
    one = kind(**plain.get_params()).fit(bag(1))
    np.testing.assert_allclose(one.history_, plain.history_, rtol=1e-9)
    several = kind(**plain.get_params()).fit(bag(4))
    assert several.counts_.emission.sum() == pytest.approx(N_OBSERVED, rel=1e-12)
    assert several.objective_ == pytest.approx(plain.objective_, abs=0.05)
    assert several.alpha_ == pytest.approx(plain.alpha_, rel=0.2)


def test_grammars_learn_on_workers(client):
    plain = EMPCFG(n_components=3, **COMMON).fit(sentences())
    model = DistributedEMPCFG(n_components=3, **COMMON).fit(bag(3))
    np.testing.assert_allclose(model.history_, plain.history_, rtol=1e-12)
    np.testing.assert_allclose(model.counts_.rule, plain.counts_.rule, rtol=1e-10, atol=1e-12)


def test_labels_come_in_the_partitions_of_x(client):
    y = [[LEGAL[word][0] for word in s] if i % 3 == 0 else None for i, s in enumerate(sentences())]
    plain = EMHMMTagger(LEGAL, **COMMON).fit(sentences(), y)
    labels = dask.bag.from_sequence(y, npartitions=3)
    tagger = DistributedEMHMMTagger(LEGAL, **COMMON).fit(bag(3), labels)
    np.testing.assert_allclose(tagger.history_, plain.history_, rtol=1e-12)
    with pytest.raises(ValueError, match="y has 2 partitions and X 3"):
        tagger.fit(bag(3), dask.bag.from_sequence(y, npartitions=2))


def test_batches_after_a_fit_count_what_was_left_out_by_its_own_length(client):
    """Nothing goes back from B to A: long sequences have no path."""
    sequences = [list("ab"), list("abbabaabb"), list("aab"), list("ba")] * 3
    settings = {"tag_dictionary": {"a": ["A"], "b": ["B"]}, "topology": "left-right", **COMMON}
    with pytest.warns(UserWarning, match="cannot be explained"):
        plain = EMHMMTagger(**settings).fit(sequences)
    with pytest.warns(UserWarning, match="cannot be explained"):
        tagger = DistributedEMHMMTagger(**settings, client=client).fit(
            dask.bag.from_sequence(sequences, npartitions=3)
        )
    assert tagger.to_local()._seen[:3] == plain._seen[:3] == (15, 6, 15.0)


def test_what_sequences_come_in(client, tmp_path):
    X = sentences()
    expected = DistributedEMHMM(2, **COMMON).fit(bag(2)).history_
    paths = []
    for i, part in enumerate([X[:30], X[30:]]):
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_text("\n".join(" ".join(sentence) for sentence in part) + "\n\n")
    for given in (
        paths,
        [delayed(X[:30]), delayed([]), delayed(X[30:])],
        client.scatter([X[:30], X[30:]], hash=False),
    ):
        model = DistributedEMHMM(2, **COMMON).fit(given)
        np.testing.assert_allclose(model.history_, expected, rtol=1e-12)
    model = DistributedEMHMM(2, **COMMON, reader=_backwards).fit(paths)
    plain = EMHMM(2, **COMMON).fit([sentence[::-1] for sentence in X])
    np.testing.assert_allclose(model.history_, plain.history_, rtol=1e-12)
    with pytest.raises(TypeError, match="pass a dask bag"):
        model.fit(X)


def test_a_series_of_lists(client):
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    with dask.config.set({"dataframe.convert-string": False}):
        column = frames.from_pandas(pandas.Series(sentences()), npartitions=2)
        model = DistributedEMHMM(2, **COMMON).fit(column)
        found = model.predict(column).compute()
    np.testing.assert_allclose(
        model.history_, EMHMM(2, **COMMON).fit(sentences()).history_, rtol=1e-12
    )
    assert [len(states) for states in found] == [len(sentence) for sentence in sentences()]


def _backwards(path):
    with open(path, encoding="utf-8") as lines:
        return [line.split()[::-1] for line in lines if line.strip()]


def test_predictions_are_lazy_and_those_of_the_plain_estimator(client):
    model = DistributedEMHMM(2, **COMMON)
    with pytest.raises(NotFittedError):
        model.predict(bag(2))
    local = model.fit(bag(3)).to_local()
    lazy = model.predict(bag(3))
    assert isinstance(lazy, dask.bag.Bag)
    expected = local.predict(sentences())
    assert all(map(np.array_equal, lazy.compute(), expected))
    chances = model.predict_proba([delayed(sentences()[:9])])[0].compute()
    assert all(map(np.array_equal, chances, local.predict_proba(sentences()[:9])))
    assert np.array_equal(model.score_samples(bag(2)).compute(), local.score_samples(sentences()))
    assert all(map(np.array_equal, model.predict(sentences()), expected))
    assert type(local) is EMHMM
    assert not hasattr(model, "labels_")
    assert np.array_equal(model.transmat_, local.transmat_)


def test_it_is_an_estimator_with_the_parameters_of_the_plain_one(client):
    model = DistributedCVBHMM(5, alpha="auto", client=client)
    assert set(model.get_params()) == {*CVBHMM().get_params(), "client", "reader"}
    expected = {**CVBHMM().get_params(), "n_components": 5, "alpha": "auto"}
    assert expected.items() <= model.get_params().items()
    copied = clone(DistributedCVBHMM(5).set_params(beta=0.5))
    assert (copied.n_components, copied.beta) == (5, 0.5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpa'"):
        DistributedCVBHMM(alpa=1)
    with pytest.raises(ValueError, match="'alpha' parameter of CVBHMM"):
        model.set_params(alpha=-1).fit(bag(2))
    assert "DistributedCVBHMM(" in repr(model)
    fitted = DistributedCVBHMM(2, **COMMON, client=client).fit(bag(2))
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.history_, fitted.history_)
    assert again.client is None


def test_messages_name_partition_and_sequence(client):
    broken = [delayed([["a", "b"]]), delayed([["a"], "text"])]
    with pytest.raises(TypeError, match=r"X\[1\] is the string 'text'"):
        DistributedEMHMM(2).fit(broken)
    with pytest.raises(ValueError, match="no observed token"):
        DistributedEMHMM(2, handle_unknown="error").fit([delayed([]), delayed([])])
    with pytest.raises(ValueError, match="use update='sequence'"):
        DistributedCVBHMM(2, update="token").fit(bag(2))


def test_verbose_tells_of_rounds_and_workers(client, capsys):
    DistributedEMHMM(2, **COMMON, verbose=1).fit(bag(2))
    printed = capsys.readouterr().out
    assert "round" in printed
    assert "tokens/s" in printed


def test_warm_start_goes_on(client):
    plain = CVBHMM(3, **COMMON).fit(sentences())
    model = DistributedEMHMM(3, **{**COMMON, "max_iter": 2}, warm_start=True).fit(bag(3))
    model.fit(bag(3))
    whole = EMHMM(3, **COMMON).fit(sentences())
    assert np.allclose(model.history_, whole.history_[2:], rtol=1e-12)
    model = DistributedCVBHMM(3, **{**COMMON, "max_iter": 3}, warm_start=True).fit(bag(3))
    before = model.history_[-1]
    model.fit(bag(3))
    assert model.history_[-1] > before - 0.02
    assert model.counts_.emission.sum() == pytest.approx(N_OBSERVED, rel=1e-12)
    assert plain.n_iter_ == 4


def test_a_checkpoint_is_gone_on_from(client, tmp_path):
    settings = {**COMMON, "checkpoint": str(tmp_path), "checkpoint_every": 1}
    whole = DistributedEMHMM(3, **COMMON).fit(bag(3))

    class Died(Exception):
        pass

    ask = OnWorkers.ask

    def dying(self, name, *arguments):
        found = ask(self, name, *arguments)
        self.n_asked = getattr(self, "n_asked", 0) + 1
        if self.n_asked == 3:
            raise Died
        return found

    OnWorkers.ask = dying
    try:
        with pytest.raises(Died):
            DistributedEMHMM(3, **settings).fit(bag(3))
    finally:
        OnWorkers.ask = ask
    model = DistributedEMHMM(3, **settings, warm_start=True).fit(bag(3))
    assert np.array_equal(model.history_, whole.history_)
    assert np.array_equal(model.counts_.emission, whole.counts_.emission)


def _die_in_sweep(n_sweeps):
    """Have this process kill itself once a shard has swept, before it answers."""
    from sklearn_cvb.learning.parts import Shard

    sweep = Shard.sweep

    def dying(self, counts, terms):
        found = sweep(self, counts, terms)
        if terms.n_sweeps == n_sweeps:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    Shard.sweep = dying


def test_a_fit_survives_the_kill_of_a_worker(client, monkeypatch):
    undisturbed = DistributedCVBHMM(3, **COMMON).fit(bag(4))
    ask, sums = OnWorkers.ask, []

    def noting(self, name, *arguments):
        found = ask(self, name, *arguments)
        sums.append(found.counts.emission.sum())
        return found

    monkeypatch.setattr(OnWorkers, "ask", noting)
    before = set(client.scheduler_info()["workers"])
    client.run(_die_in_sweep, 2, workers=sorted(before)[:1])
    model = DistributedCVBHMM(3, **COMMON).fit(bag(4))
    assert not before <= set(client.scheduler_info()["workers"])
    # The start, four sweeps and the score.
    assert sums == pytest.approx([N_OBSERVED] * 6, rel=1e-12)
    assert np.array_equal(model.history_[:2], undisturbed.history_[:2])
    assert not np.array_equal(model.history_[2:], undisturbed.history_[2:])
    assert model.objective_ == pytest.approx(undisturbed.objective_, abs=0.05)
