"""Step lengths and turning angles of animals: EM against an optimiser on the same density.

The usual model of movement ecology (Morales et al. 2004; McClintock and Michelot 2018): Gamma step
lengths and von Mises turning angles, independent given one of two behaviours.
"""

import lzma

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import minimize

from sklearn_cvb import EMHMM
from sklearn_cvb.emissions import Columns, Gamma, VonMises

EMISSION = Columns([(Gamma(shape=None), ["step"]), (VonMises(), ["angle"])])


def moves(positions):
    """Step lengths and turning angles; the first step has no angle."""
    x, y = np.diff(positions[["x", "y"]].to_numpy(), axis=0).T
    bearing = np.arctan2(y, x)
    turn = np.append(np.nan, np.angle(np.exp(1j * np.diff(bearing))))
    return pd.DataFrame({"step": np.hypot(x, y), "angle": turn})


def tracks(data_folder, name, unit):
    path = data_folder / "movement" / f"{name}.csv.xz"
    if not path.exists():
        pytest.skip(f"SKLEARN_CVB_DATA has no {path.name}")
    with lzma.open(path) as file:
        table = pd.read_csv(file)
    table[["x", "y"]] /= unit
    return [moves(own) for _, own in table.groupby("ID")]


def log_likelihood(parameters, series):
    """By the forward algorithm; logs of shapes, means and concentrations."""
    shapes, means, concentrations = np.exp(parameters[:6]).reshape(3, 2)
    stay = (1 / (1 + np.exp(-parameters[8:11]))).tolist()
    steps = [[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]]
    total = 0.0
    for own in series:
        logs = stats.gamma.logpdf(own["step"].to_numpy()[:, None], shapes, scale=means / shapes)
        off = own["angle"].to_numpy()[:, None] - parameters[6:8]
        turns = stats.vonmises.logpdf(off, concentrations)
        densities = np.exp(logs + np.nan_to_num(turns))
        first, second = np.array([stay[2], 1 - stay[2]]) * densities[0]
        scales = [first + second]
        # Plain numbers: arrays of two would take ten times as long.
        for one, other in densities[1:].tolist():
            first, second = first / scales[-1], second / scales[-1]
            first, second = (
                (first * steps[0][0] + second * steps[1][0]) * one,
                (first * steps[0][1] + second * steps[1][1]) * other,
            )
            scales.append(first + second)
        total += np.log(scales).sum()
    return total


@pytest.mark.long
@pytest.mark.parametrize(("name", "unit"), [("elephant", 1000.0), ("haggis", 1.0)])
def test_maximum_likelihood_is_that_of_an_optimiser(data_folder, name, unit):
    series = [own[:300] for own in tracks(data_folder, name, unit)][:2]
    model = EMHMM(2, emission=EMISSION, n_init=3, max_iter=3000, tol=1e-8, random_state=0)
    model.fit(series)
    lengths, angles = model.parts_
    found = {
        "shapes": lengths["shapes_"].ravel(),
        "means": (lengths["shapes_"] / lengths["rates_"]).ravel(),
        "concentrations": angles["concentrations_"].ravel(),
    }
    start = np.log(np.concatenate(list(found.values())))
    stay = np.append(np.diag(model.transmat_), np.clip(model.startprob_[0], 0.01, 0.99))
    start = np.concatenate([start + 0.1, angles["directions_"].ravel(), np.log(stay / (1 - stay))])
    best = minimize(lambda p: -log_likelihood(p, series), start, method="BFGS")
    assert model.score_samples(series).sum() == pytest.approx(-best.fun, abs=0.01)
    for k, (own, values) in enumerate(found.items()):
        np.testing.assert_allclose(
            values, np.exp(best.x[2 * k : 2 * k + 2]), rtol=1e-3, err_msg=own
        )
    np.testing.assert_allclose(angles["directions_"].ravel(), best.x[6:8], atol=2e-3)
    np.testing.assert_allclose(np.diag(model.transmat_), 1 / (1 + np.exp(-best.x[8:10])), atol=1e-3)
