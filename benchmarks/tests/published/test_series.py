"""Held-out likelihood of real series: what is held out, and what the tables make of it."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.published import series
from benchmarks.published.__main__ import main
from benchmarks.published.series import advantage
from benchmarks.published.tables import as_text
from sklearn_cvb import EMHMM
from sklearn_cvb.emissions import Gaussian


def test_utterances_are_those_of_one_speaker(quick):
    found = series.vowels(quick)
    assert [x.shape[1] for x in found.X] == [12] * 10
    assert found.kinds == ("diag", "full")


@pytest.fixture(scope="module")
def results(quick):
    return {name: series.PARTS[name](quick) for name in ("alice", "words")}


def test_a_block_of_one_series_is_missing_while_the_model_learns():
    """One state: the block's density under the mean and deviation of all the rest."""
    X = np.random.default_rng(0).normal(3.0, 2.0, (50, 1))
    rest = np.concatenate([X[:20], X[30:]])
    found = series.held_out(EMHMM(1, emission=Gaussian("diag")), [X], 2, 5)
    expected = norm(rest.mean(), rest.std()).logpdf(X[20:30]).mean()
    assert found == pytest.approx(expected, rel=1e-9)


def test_what_is_missing_in_a_block_is_not_scored():
    X = np.random.default_rng(1).normal(size=(50, 1))
    X[22:25] = np.nan
    rest = np.concatenate([X[:20], X[30:]])
    found = series.held_out(EMHMM(1, emission=Gaussian("diag")), [X], 2, 5)
    expected = np.nanmean(norm(rest.mean(), rest.std()).logpdf(X[20:30]))
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_block_is_scored_given_what_is_around_it():
    """Two states that hardly ever change, and a block within one of them."""
    rng = np.random.default_rng(2)
    X = np.repeat([0.0, 9.0], 60)[:, None] + rng.normal(size=(120, 1))
    found = series.held_out(EMHMM(2, emission="gaussian", random_state=0), [X], 0, 5)
    seen = X[24:60, 0]
    assert found == pytest.approx(norm(seen.mean(), seen.std()).logpdf(X[:24, 0]).mean(), abs=0.05)


def test_of_several_sequences_every_so_many_is_held_out():
    X = [np.full((3, 1), float(i % 2)) + [[0.0], [0.5], [1.0]] for i in range(6)]
    model = EMHMM(1, emission="gaussian")
    found = series.held_out(model, X, 1, 2)
    seen, held = np.concatenate(X[::2]), np.concatenate(X[1::2])
    assert found == pytest.approx(norm(seen.mean(), seen.std()).logpdf(held).mean(), rel=1e-9)


@pytest.mark.parametrize("kind", ["diag", "full", "poisson"])
def test_em_has_the_prior_of_the_others_where_it_is_to_have_one(kind):
    X = np.array([[[0.0], [1.0], [4.0], [2.0]]])
    plain, prior = (
        EMHMM(1, emission=series.emission(kind, has_prior), alpha=0.1).fit(X)
        for has_prior in (False, True)
    )
    if kind == "poisson":
        assert plain.rates_[0, 0] == pytest.approx(7 / 4)
        # As if one more had been seen in 4/7 steps.
        assert prior.rates_[0, 0] == pytest.approx(8 / (4 + 4 / 7))
    else:
        assert plain.means_[0, 0] == prior.means_[0, 0] == pytest.approx(1.75)
        assert np.ravel(prior.covariances_)[0] < np.ravel(plain.covariances_)[0]


def test_all_models_are_scored_for_every_fold_and_seed(results):
    for part in results.values():
        (by_model,) = part["found"].values()
        assert set(by_model) == set(series.MODELS)
        for by_states in by_model.values():
            assert {n: np.shape(runs) for n, runs in by_states.items()} == {
                "1": (1, 2),
                "2": (1, 2),
            }
    assert results["alice"]["n_steps"] == 200


def test_two_rates_are_better_for_sentences_than_one(results):
    """A count of words is far from Poisson: two rates have more than half a nat."""
    found = results["alice"]["found"]["poisson"]
    one = {key: np.mean(of["1"]) for key, of in found.items()}
    assert np.ptp(list(one.values())) < 0.2
    for key, of in found.items():
        assert np.mean(of["2"]) > one[key] + 0.5


def test_series_of_statsmodels_need_it(quick, monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets.nile", None)
    with pytest.raises(SystemExit, match=r"pip install statsmodels.*--parts alice"):
        series.PARTS["nile"](quick)


def test_series_of_statsmodels_are_read_as_the_page_says(quick, monkeypatch):
    pandas = pytest.importorskip("pandas")

    def ship(name, data):
        loaded = SimpleNamespace(load_pandas=lambda: SimpleNamespace(data=data))
        monkeypatch.setitem(sys.modules, f"statsmodels.datasets.{name}", loaded)

    monkeypatch.setitem(sys.modules, "statsmodels", SimpleNamespace(__path__=[]))
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", SimpleNamespace(__path__=[]))
    weeks = pandas.date_range("2000-01-01", periods=30, freq="7D")
    ppm = np.where((weeks.month == 4), np.nan, 300.0 + weeks.month)
    ship("co2", pandas.DataFrame({"co2": ppm}, index=weeks))
    X = series.co2(quick).X[0][:, 0]
    np.testing.assert_allclose(X, [1.0, 1.0, np.nan, np.nan, 1.0, 1.0])
    ship("sunspots", pandas.DataFrame({"YEAR": [1700, 1701], "SUNACTIVITY": [4.0, 9.0]}))
    assert series.sunspots(quick).X[0].tolist() == [[2.0], [3.0]]
    levels = {name: [1.0, np.e] for name in ("realgdp", "realcons", "realinv")}
    ship("macrodata", pandas.DataFrame(levels | {"unemp": [5.0, 6.5]}))
    np.testing.assert_allclose(series.economy(quick).X[0], [[100, 100, 100, 1.5]])


def test_cvb_is_ahead_by_the_mean_over_seeds_of_each_fold():
    found = {"cvb": {"2": [[1.0, 2.0], [3.0, 4.0]]}, "em": {"2": [[0.0, 0.0], [0.0, 1.0]]}}
    assert advantage(found, "em", "2").tolist() == [2.0, 2.5]


def test_tables_and_picture(results, tmp_path):
    tables = series.tables(results)
    assert len(tables) == 4
    text = as_text(tables)
    assert "Alice, words in a sentence (200), Poisson: held-out log density, nats per step" in text
    means = [f"{np.mean(runs):.3f}" for runs in results["alice"]["found"]["poisson"]["em"].values()]
    assert f"\nEM,{','.join(means)}\n" in text
    regimes = {"growth": [1.0, -1.0, 0.5], "states": [2, 0, 1], "means": [-1.0, 0.5, 1.0]}
    series.draw(results | {"regimes": regimes}, tmp_path)
    for name in ("series_held_out.png", "series_regimes.png"):
        assert (tmp_path / name).stat().st_size > 5000


def test_the_command_writes_figures_and_table(data_folder, tmp_path):
    place = ["--data-home", str(data_folder), "--output", str(tmp_path)]
    assert main(["series", "--quick", "--parts", "words", *place]) == 0
    shown = (tmp_path / "series.rst").read_text()
    assert "News, letters in a word, 40 sentences" in shown
    assert (tmp_path / "series.json").exists()


def test_the_page_says_what_its_table_says():
    folder = Path(__file__).resolve().parents[3] / "doc" / "published"
    table = "".join(
        path.read_text(encoding="utf-8") for path in (folder / "tables").glob("series_*.csv")
    )
    page = " ".join((folder / "series.rst").read_text(encoding="utf-8").split())
    n_cases = table.count(f"states,{','.join(map(str, series.N_STATES))}\n")
    assert n_cases == 11
    for model in series.MODELS.values():
        assert table.count(f"\n{model.title},") >= n_cases
    counts = {}
    for name in ("EM", "VB"):
        row = re.search(rf"^{name}((?:,\d+){{5}})$", table, re.M).group(1)
        counts[name] = [int(cell) for cell in re.findall(r"\d+", row)]
    cells, ahead, clearly, _, behind = counts["EM"]
    number = ["none", "one", "two", "three"]
    assert f"ahead of EM in {ahead} of {cells} cells" in page
    assert f"clearly in {clearly}, clearly behind in {number[behind]}" in page
    _, ahead, clearly, _, behind = counts["VB"]
    assert f"of VB in {ahead}, clearly in {clearly}, clearly behind in {number[behind]}" in page
