"""Tables and the picture of the experiment on unknown words."""

import numpy as np

from benchmarks.published.tables import Table, plus_minus

TITLES = {"wsj": "Wall Street Journal", "mac_morpho": "Mac-Morpho", "brown": "Brown"}
KINDS = ("all", "known", "unknown")
_ORDER = {"tagged": 0, "raw": 1, "raw and tagged": 2}


def merged(results):
    """Rows with the accuracies of all splits: by tagger, handling, way to learn and corpus."""
    rows = [row for part in ("taggers", "peers") for row in results.get(part, {}).get("rows", ())]
    found = {}
    for row in rows:
        key = row["tagger"], row.get("unknown words", ""), row["learns from"]
        for kind in KINDS:
            values = found.setdefault(key, {}).setdefault((row["corpus"], kind), [])
            values.append(row[kind])
    return dict(sorted(found.items(), key=lambda item: _ORDER[item[0][2]]))


def corpora_of(results):
    """Names of the corpora that were run."""
    first = next(part for part in results.values() if "rows" in part)
    return list(dict.fromkeys(row["corpus"] for row in first["rows"]))


def tables(results):
    """Accuracies of all tokens, of known and of unknown words, a table for each corpus."""
    about = next(part for part in results.values() if "rows" in part)
    tables = {}
    for corpus in corpora_of(results):
        shares = [row["share unknown"] for row in about["rows"] if row["corpus"] == corpus]
        cells = [
            [*key, *(plus_minus(values[corpus, kind], scale=100) for kind in KINDS)]
            for key, values in merged(results).items()
            if (corpus, "all") in values
        ]
        title = (
            f"{TITLES[corpus]}: % of tokens right, dictionary of {about['n_dictionary']:,} "
            f"sentences, {about['n_raw']:,} others tagged, {100 * np.mean(shares):.1f} % unknown"
        )
        header = ["tagger", "handle_unknown", "learns from", *KINDS]
        tables[corpus] = Table(header, cells, title)
    return tables


def draw(results, folder):
    """Unknown words right by tagger, one panel for each corpus.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    corpora = corpora_of(results)
    rows = merged(results)
    figure, axes = plt.subplots(
        1,
        len(corpora),
        figsize=(3.2 * len(corpora) + 3.0, 0.22 * len(rows) + 1.0),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    names = [", ".join(filter(None, key)) for key in rows]
    for axis, corpus in zip(axes[0], corpora, strict=True):
        values = [100 * np.mean(row.get((corpus, "unknown"), [np.nan])) for row in rows.values()]
        colours = ["tab:orange" if key[1] == "form" else "tab:grey" for key in rows]
        axis.barh(names, np.nan_to_num(values), color=colours)
        axis.set_title(TITLES[corpus], fontsize=9)
        axis.set_xlabel("% of unknown words right")
        axis.tick_params(labelsize=7)
        axis.invert_yaxis()
    figure.savefig(folder / "unknown_words_accuracy.png", dpi=120)
    plt.close(figure)
