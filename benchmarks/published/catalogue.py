"""What is to be known of an experiment before it runs; nothing here bears on its figures."""

from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import NamedTuple

from sklearn_cvb import datasets
from sklearn_cvb.datasets.corpora import WHERE, corpus_folder, find_corpus


class Experiment(NamedTuple):
    """What it reproduces, what it reads, and how long it takes."""

    reproduces: str
    minutes: float  # of the whole experiment on one core, about
    needs: tuple[str, ...] = ()  # names of `SOURCES`
    quick: tuple[str, ...] = ()  # the parts of the small version; all where none is named


_WSJ = ("conll2000", "treebank")
_UD = ("ud/sv_talbanken", "ud/tr_boun", "ud/id_gsd")
_COLLAPSED = "Wang and Blunsom (2013)"
_PCFG = "Wang and Blunsom (2013, PCFGs)"

EXPERIMENTS = {
    "alignment": Experiment(
        "words of translated sentences, beside sil-thot and eflomal", 7, ("xl-wa",), ("da",)
    ),
    "beal_alice": Experiment("Beal (2003), figure 3.4", 20, ("alice",), ("strength",)),
    "beal_sequences": Experiment("Beal (2003), section 3.5.1 and its Hinton diagrams", 3),
    "clusters": Experiment(
        "clusters of sequences, held out", 5, ("japanese_vowels", "xl-wa"), ("speakers",)
    ),
    "concentrations": Experiment(
        "eq. 29, and what two departures from it are worth", 15, ("alice", "treebank")
    ),
    "convergence": Experiment("when a fit is done, by two rules", 6, ("xl-wa", *_WSJ)),
    "coverage": Experiment(
        "how often intervals hold the truth", 95, quick=("labels_small", "numbers", "estimates")
    ),
    "criteria": Experiment("choosing alpha and beta without labels", 1, _WSJ),
    "digits": Experiment("digits in dates and in account numbers", 15, quick=("dates",)),
    "distributed": Experiment("fits in shards, on workers of Dask", 15, ("brown", *_WSJ)),
    "dmv": Experiment(
        "heads from tags, after Klein and Manning (2004)",
        70,
        ("dependency_treebank", "conll2007", *_UD),
        ("english", "swedish", "changes"),
    ),
    "durations": Experiment(
        "semi-Markov chains, held out", 5, ("japanese_vowels", "alice", "elephant"), ("vowels",)
    ),
    "figure5": Experiment(f"{_COLLAPSED}, figure 5", 4, _WSJ),
    "independent": Experiment(
        "grammars of hundreds of symbols, after Liu et al. (2023)", 30, ("treebank",)
    ),
    "knowledge": Experiment(
        "what knowing a little brings, in five tasks", 10, (_UD[0], "xl-wa", *_WSJ)
    ),
    "latent": Experiment(f"{_PCFG}, table 1 and figure 7", 80, ("treebank",)),
    "many_states": Experiment(
        "thousands of states, of which a word may take a few", 10, ("alice", *_WSJ)
    ),
    "marginals": Experiment("distance to the exact posterior, on small problems", 9),
    "mean_field": Experiment(f"{_COLLAPSED}, the updates of figures 2 and 4, exactly", 2),
    "mixtures": Experiment(
        "mixtures in each state, held out",
        4,
        ("statsmodels", "alice", "dependency_treebank", "japanese_vowels"),
    ),
    "morphology": Experiment(f"{_PCFG}, section 4.1", 19, ("zulu_verbs",)),
    "noise": Experiment(
        "wrong tags in a dictionary",
        25,
        ("brown", "mac_morpho", *_WSJ, *_UD),
        ("dictionaries", "strengths"),
    ),
    "perplexity": Experiment(f"{_COLLAPSED}, figures 6 and 7", 45, _WSJ),
    "pocket_english": Experiment("generated sentences beside the journal", 2, _WSJ),
    "samplers": Experiment("Gao and Johnson (2008), samplers compared", 6, _WSJ),
    "series": Experiment(
        "series of numbers, held out",
        20,
        ("statsmodels", "alice", "dependency_treebank", "japanese_vowels"),
    ),
    "states": Experiment(
        "how many states, after Beal, Ghahramani and Rasmussen (2002)", 90, ("alice", *_WSJ)
    ),
    "streaming": Experiment("one pass over a corpus in batches", 7, ("brown", "mac_morpho")),
    "streams": Experiment(
        "one long sequence in steps, after Foti et al. (2014)", 16, ("alice", *_WSJ)
    ),
    "subjects": Experiment("subjects that share and differ", 10, ("japanese_vowels", "xl-wa")),
    "table1": Experiment(f"{_COLLAPSED}, table 1", 35, ("brown", *_WSJ)),
    "table2": Experiment(f"{_COLLAPSED}, table 2", 22, _WSJ),
    "unknown_words": Experiment(
        "words that a dictionary lacks", 25, ("brown", "mac_morpho", *_WSJ, *_UD)
    ),
    "vowels": Experiment("Kudo, Toyama and Shimbo (1999), who speaks", 45, ("japanese_vowels",)),
    "wrong_models": Experiment(
        "Pohle et al. (2017), numbers of states where no model is right", 35, quick=("right",)
    ),
}


def _treebank_of(name: str, data_home: str | None) -> None:
    """Raise OSError where the files of a universal treebank are not."""
    for part in ("dev", "test"):
        path = corpus_folder(data_home) / f"{name}-ud-{part}.conllu.xz"
        if not path.is_file():
            raise OSError(
                f"{path.name} not found in {path.parent}: it is of universaldependencies.org, "
                f"compressed (xz); {WHERE}"
            )


def _elephant(data_home: str | None) -> None:
    path = corpus_folder(data_home) / "movement" / "elephant.csv.xz"
    if not path.is_file():
        raise OSError(
            f"{path.name} not found in {path.parent}: it is the hourly track of an elephant "
            f"(Wall et al. 2014), as momentuHMM's vignette has it, compressed (xz); {WHERE}"
        )


def _translations(data_home: str | None) -> None:
    for language in ("da", "es", "hu", "nl"):
        datasets.fetch_xl_wa(language=language, data_home=data_home)


def _statsmodels(data_home: str | None) -> None:
    if find_spec("statsmodels") is None:
        raise OSError("five series are data sets of statsmodels: `pip install statsmodels`")


def _archive(name: str, data_home: str | None) -> None:
    find_corpus(name, data_home=data_home)


_ARCHIVES = ("brown", "conll2000", "conll2007", "dependency_treebank", "mac_morpho", "treebank")
# What an experiment may read; each raises OSError, which says what to do, where it lacks, unless
# it can be downloaded: then it does that.
SOURCES: dict[str, Callable[[str | None], object]] = {
    **{name: partial(_archive, name) for name in _ARCHIVES},
    "alice": lambda data_home: datasets.fetch_alice(data_home=data_home),
    "japanese_vowels": lambda data_home: datasets.fetch_japanese_vowels(data_home=data_home),
    "zulu_verbs": lambda data_home: datasets.fetch_zulu_verbs(data_home=data_home),
    "xl-wa": _translations,
    **{name: partial(_treebank_of, name) for name in _UD},
    "elephant": _elephant,
    "statsmodels": _statsmodels,
}


def lacking(name: str, data_home: str | None) -> dict[str, str]:
    """What an experiment needs and is not there: name, and where it was looked for."""
    found = {source: _missing(source, data_home) for source in EXPERIMENTS[name].needs}
    return {source: text for source, text in found.items() if text}


@cache
def _missing(source: str, data_home: str | None) -> str | None:
    """What to do where something lacks; None where it is there."""
    try:
        SOURCES[source](data_home)
    except OSError as error:
        return str(error)
    return None


def listed() -> str:
    """A line for each experiment: name, minutes, what it reproduces, and what it needs."""
    width = max(map(len, EXPERIMENTS))
    return "\n".join(
        f"{name:{width}} {about.minutes:4g} min  {about.reproduces}"
        + (f"; needs {', '.join(about.needs)}" if about.needs else "")
        for name, about in EXPERIMENTS.items()
    )
