"""Tables and the picture of the experiment on sequences of digits."""

import numpy as np

from benchmarks.published.tables import Table, plus_minus

READERS = {
    "bayes": "naive Bayes",
    "alone em": "EM, no chain",
    "alone vb": "VB, no chain",
    "alone cvb": "CVB, no chain",
    "chain em": "EM, chain",
    "chain vb": "VB, chain",
    "chain cvb": "CVB, chain",
    "chain cvb place": "CVB, chain, the place as a column",
    "alone em semi": "EM, no chain, and unlabelled sequences",
    "alone vb semi": "VB, no chain, and unlabelled sequences",
    "alone cvb semi": "CVB, no chain, and unlabelled sequences",
    "chain em semi": "EM, chain, and unlabelled sequences",
    "chain vb semi": "VB, chain, and unlabelled sequences",
    "chain cvb semi": "CVB, chain, and unlabelled sequences",
    "bayes rule": "naive Bayes, best that obeys the rule",
    "chain cvb rule": "CVB, chain, best that obeys the rule",
    "chain cvb semi rule": "CVB, chain, and unlabelled sequences, best that obeys the rule",
}
KINDS = {"dates": "Dates", "accounts": "Account numbers"}
_MEASURES = ("digits", "sequences")


def shares_of(runs, measure):
    """A measure of all seeds.

    Parameters
    ----------
    runs : list of dict
    measure : {"digits", "sequences"}

    Returns
    -------
    list of float
    """
    return [run[measure] for run in runs]


def tables(results):
    """Shares of digits and sequences that are right, with and without labels."""
    names = [name for name in KINDS if name in results]
    found = {name: _labelled(KINDS[name], results[name]["labelled"]) for name in names}
    found["unlabelled"] = _unlabelled({name: results[name]["unlabelled"] for name in names})
    return found


def _labelled(title, found):
    header = ["labelled sequences"]
    header += [f"{n}, {measure}" for n in found for measure in _MEASURES]
    lines = [
        [READERS[key]] + [_cell(of[key], measure) for of in found.values() for measure in _MEASURES]
        for key in READERS
    ]
    return Table(header, lines, f"{title}: what is read right (%)")


def _unlabelled(found):
    header = ["", *(f"{KINDS[name]}, {measure}" for name in found for measure in _MEASURES)]
    keys = [key for key in READERS if all(key in of for of in found.values())]
    lines = [
        [READERS[key]] + [_cell(of[key], measure) for of in found.values() for measure in _MEASURES]
        for key in keys
    ]
    return Table(header, lines, "Without labels: what is read right (%)")


def _cell(runs, measure):
    return plus_minus(shares_of(runs, measure), 1, 100)


def draw(results, folder):
    """Some sequences with two readings of each.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
    from matplotlib.figure import Figure

    shown = [results[name]["shown"] for name in KINDS if name in results]
    shown = [one for one in shown if one]
    rows = [
        (pixels, *(one[key][i] for key in ("numbers", "bayes", "chain cvb semi")))
        for one in shown
        for i, pixels in enumerate(one["pixels"])
    ]
    if not rows:
        return
    figure = Figure(figsize=(8, 0.3 + 1.0 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
    for panel, (pixels, numbers, bayes, chain) in zip(panels, rows, strict=True):
        strip = np.hstack([np.pad(np.reshape(one, (8, 8)), 1) for one in pixels])
        panel.imshow(1 - strip, cmap="gray", aspect="equal")
        texts = ("".join(map(str, read)) for read in (numbers, bayes, chain))
        label = "\n".join(
            f"{name} {text}" for name, text in zip(("is", "Bayes", "CVB"), texts, strict=True)
        )
        panel.text(strip.shape[1] + 3, 5, label, va="center", family="monospace", fontsize=8)
        panel.set_axis_off()
    figure.savefig(folder / "digits_read.png", dpi=110, bbox_inches="tight")
