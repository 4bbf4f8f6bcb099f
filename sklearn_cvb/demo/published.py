"""Tagging accuracies printed in Wang and Blunsom (2013), AISTATS, tables 1 and 2."""

from typing import NamedTuple


class PublishedResult(NamedTuple):
    """Mean and standard deviation of the accuracy over 10 runs, in per cent."""

    mean: float
    deviation: float


_ORDER = ("em", "vb", "cvb-token", "cvb-sequence", "gibbs")

# Table 1: number of sentences, a complete dictionary. None stands for the entire treebank.
_BY_SIZE = {
    1000: ((81.0, 1.2), (79.2, 1.3), (82.9, 0.2), (84.2, 0.2), (85.3, 0.5)),
    2000: ((81.1, 0.9), (80.5, 1.1), (83.1, 0.3), (85.5, 0.3), (85.0, 0.3)),
    3000: ((81.1, 0.8), (80.5, 1.0), (83.1, 0.2), (85.8, 0.3), (85.0, 0.2)),
    5000: ((81.0, 1.5), (80.4, 1.5), (83.0, 0.2), (85.6, 0.1), (85.2, 0.2)),
    10000: ((81.4, 1.7), (80.7, 1.2), (83.4, 0.2), (85.6, 0.1), (85.0, 0.2)),
    None: ((81.4, 0.9), (81.4, 1.1), (83.7, 0.1), (85.7, 0.1), (84.6, 0.1)),
}

# Table 2: 1,000 sentences; words seen fewer than d times may take any tag.
_BY_MIN_COUNT = {
    2: ((69.6, 1.5), (69.6, 1.6), (73.8, 0.4), (77.9, 0.4), (79.0, 0.4)),
    3: ((64.7, 1.7), (61.1, 1.6), (65.1, 0.4), (74.1, 0.3), (72.5, 0.7)),
    5: ((54.7, 2.9), (54.3, 2.0), (64.7, 0.4), (65.0, 0.5), (64.2, 0.9)),
    10: ((43.5, 2.4), (43.6, 2.1), (51.2, 0.7), (53.3, 0.5), (55.7, 0.6)),
}


def published_accuracies(
    corpus: str, n_sentences: int, is_whole: bool, min_count: int
) -> dict[str, PublishedResult]:
    """The paper's accuracies for an experiment, where it reports one of that kind.

    The paper's text is of the Wall Street Journal; nothing where it has no figure.

    >>> from sklearn_cvb.demo.published import published_accuracies
    >>> published_accuracies("wsj", 1000, False, 1)["vb"].mean
    79.2
    >>> published_accuracies("brown", 1000, False, 1)
    {}
    """
    if corpus not in ("wsj", "treebank"):
        return {}
    if min_count == 1:
        size = None if is_whole and corpus == "wsj" else n_sentences
        row = _BY_SIZE.get(size, ())
    else:
        row = _BY_MIN_COUNT.get(min_count, ()) if n_sentences == 1000 else ()
    return {name: PublishedResult(*row[i]) for i, name in enumerate(_ORDER[: len(row)])}
