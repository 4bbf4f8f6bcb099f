"""Pictures of series of numbers: bands, fans and ellipses are where the numbers say."""

import matplotlib
import matplotlib.dates
import numpy as np
import pandas as pd
import pytest

from sklearn_cvb import EMHMM, VBHMM
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.plotting import plot_ellipses, plot_forecast, plot_state_sequences, plot_states

RNG = np.random.default_rng(0)
STATE = np.repeat([0, 1, 0, 2], 15)
SERIES = (
    RNG.normal(size=(60, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
    + np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 9.0]])[STATE]
)


@pytest.fixture(autouse=True)
def _no_screen():
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_bands_are_runs_of_states():
    import matplotlib.pyplot as plt

    ax = plot_states(SERIES, STATE, ax=plt.subplots(layout="constrained")[1])
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    assert sorted(spans) == [(-0.5, 14.5), (14.5, 29.5), (29.5, 44.5), (44.5, 59.5)]
    colours = {tuple(patch.get_facecolor()) for patch in ax.patches}
    assert len(colours) == 3
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["state 0", "state 1", "state 2", "column 0", "column 1"]
    for d, line in enumerate(ax.get_lines()):
        np.testing.assert_array_equal(line.get_ydata(), SERIES[:, d])
    ax.figure.canvas.draw()
    assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())
    with pytest.raises(ValueError, match=r"states has shape \(3,\), but the series has 60 steps"):
        plot_states(SERIES, [0, 1, 2])


def test_frames_have_dates_names_and_an_axis_a_column():
    dates = pd.date_range("2026-01-01", periods=60)
    frame = pd.DataFrame(SERIES, columns=["diff", "volume"], index=dates)
    axes = plot_states(frame, STATE)
    assert [ax.get_ylabel() for ax in axes] == ["diff", "volume"]
    for d, ax in enumerate(axes):
        (line,) = ax.get_lines()
        np.testing.assert_array_equal(line.get_ydata(), SERIES[:, d])
        assert (line.get_xdata() == dates.to_numpy()).all()
        begin = min(patch.get_x() for patch in ax.patches)
        assert begin == matplotlib.dates.date2num(dates[0]) - 0.5
        assert len(ax.patches) == 4
    assert plot_states(frame["volume"], STATE).get_ylabel() == "volume"
    ax = plot_states(SERIES[:, 0], STATE, labels=["off", "idle", "busy"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "value")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["off", "idle", "busy"]


def test_states_of_sequences_are_rows_in_the_colours_of_their_states():
    ax = plot_state_sequences([[0, 0, 2], [2.0, np.nan], [], [None, 1, 1]])
    first, second, third = (matplotlib.colors.to_rgba(f"C{state}") for state in range(3))
    white = (1.0, 1.0, 1.0, 1.0)
    expected = [
        [first, first, third],
        [third, white, white],
        [white, white, white],
        [white, second, second],
    ]
    np.testing.assert_allclose(ax.images[0].get_array(), expected)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "state 0",
        "state 1",
        "state 2",
    ]
    ax = plot_state_sequences([["VB", "NN"], ["NN", None]])
    np.testing.assert_allclose(ax.images[0].get_array(), [[second, first], [first, white]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["NN", "VB"]
    with pytest.raises(ValueError, match="states has none"):
        plot_state_sequences([[-1]])


def test_forecast_is_drawn_where_the_series_ends():
    frame = pd.DataFrame(SERIES, columns=["a", "b"])
    model = VBHMM(3, emission="gaussian", random_state=0).fit([frame])
    ax = plot_ellipses(model, columns=(1, 0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "a")
    model = VBHMM(3, emission="gaussian", random_state=0).fit([SERIES])
    forecast = model.predict_next([SERIES[:50], SERIES], 7, level=0.7, random_state=0)
    ax = plot_forecast(SERIES, forecast, index=1, column=1, n_last=20)
    past, mean, lower, upper = ax.get_lines()[:4]
    np.testing.assert_array_equal(past.get_xdata(), np.arange(40, 60))
    np.testing.assert_array_equal(past.get_ydata(), SERIES[40:, 1])
    np.testing.assert_array_equal(mean.get_xdata(), np.arange(60, 67))
    np.testing.assert_array_equal(mean.get_ydata(), forecast.mean[1, :, 1])
    np.testing.assert_array_equal(lower.get_ydata(), forecast.lower[1, :, 1])
    np.testing.assert_array_equal(upper.get_ydata(), forecast.upper[1, :, 1])
    assert ax.get_ylabel() == "column 1"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["80 %", "50 %", "mean", "70 %"]
    drawn = forecast.samples[1, :, :, 1]
    band = ax.collections[1].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(np.percentile(drawn, 25, axis=0).min())
    assert band[:, 1].max() == pytest.approx(np.percentile(drawn, 75, axis=0).max())
    dates = pd.date_range("2026-01-01", periods=60, freq="h")
    ax = plot_forecast(pd.DataFrame(SERIES, dates, ["a", "b"]), forecast, column=1, n_last=20)
    ahead = ax.get_lines()[1].get_xdata()
    assert (ahead == pd.date_range(dates[-1], periods=8, freq="h")[1:].to_numpy()).all()
    assert ax.get_ylabel() == "b"


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_ellipses_have_the_variances_of_their_state(covariance_type):
    """The outline at one deviation has Mahalanobis distance 1 from the mean."""
    model = EMHMM(3, emission=Gaussian(covariance_type), random_state=0).fit([SERIES])
    ax = plot_ellipses(model, [SERIES])
    assert len(ax.patches) == 6
    for state in range(3):
        own = model.covariances_ if covariance_type == "tied" else model.covariances_[state]
        own = own if covariance_type in ("full", "tied") else np.eye(2) * own
        for patch, deviations in zip(ax.patches[2 * state :][:2], (1.0, 2.0), strict=True):
            outline = patch.get_path().vertices[:-1]
            off = patch.get_patch_transform().transform(outline) - model.means_[state]
            distance = np.sqrt(np.einsum("ti,ij,tj->t", off, np.linalg.inv(own), off))
            # Matplotlib draws arcs by splines; their ends lie on the ellipse.
            assert distance.min() == pytest.approx(deviations, rel=0.01)
    assert len(ax.collections[0].get_offsets()) == 60


def test_ellipses_need_two_columns_of_normal_emissions():
    model = VBHMM(2, emission="gaussian", random_state=0).fit([SERIES])
    swapped = plot_ellipses(model, columns=(1, 0))
    assert swapped.patches[0].get_center() == pytest.approx(model.means_[0, ::-1])
    with pytest.raises(ValueError, match="columns must be two of the 2 columns"):
        plot_ellipses(model, columns=(0,))
    with pytest.raises(ValueError, match=r"'column 1'\], and none is 2"):
        plot_ellipses(model, columns=(0, 2))
    counts = VBHMM(2, emission="poisson", random_state=0).fit([[1, 2, 9, 8]])
    with pytest.raises(TypeError, match="ellipses are of emission='gaussian'"):
        plot_ellipses(counts)
