"""What a fitted model knows of translations, as a table to read."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.reading.corpus import shown

# How many source words `repr` shows, and translations of each.
_SHOWN, _TRANSLATIONS = 10, 3


class Lexicon:
    """Probabilities of translations, p(target word | source word).

    Fitted models make it; see `lexicon_`. Pairs of words that never stood beside each other are not
    in it.

    Parameters
    ----------
    table : csr_array of shape (n_sources + 1, n_targets)
        Probabilities; the last row is that of target words without a source.
    source, target : list
        The known words; types beyond them are unknown words.
    """

    def __init__(self, table: csr_array, source: list, target: list) -> None:
        self.table = table
        self.source = source
        self.target = target
        self._row = {word: i for i, word in enumerate(source)}

    def translations(self, word: Hashable, n: int = 10) -> list[tuple[Any, float]]:
        """The most probable translations of a source word.

        Parameters
        ----------
        word : hashable
            A known source word; None for target words without a source.
        n : int, default=10
            How many.

        Returns
        -------
        list of tuple (target word, probability)
            The most probable first.

        Raises
        ------
        KeyError
            If the word is not known.
        """
        if word is not None and word not in self._row:
            raise KeyError(f"{shown(word)} is no source word that the model knows")
        row = self.table.shape[0] - 1 if word is None else self._row[word]
        begin, end = self.table.indptr[row : row + 2].tolist()
        values, columns = self.table.data[begin:end], self.table.indices[begin:end]
        best = np.argsort(-values, kind="stable")[:n].tolist()
        return [(self.target[columns[i]], float(values[i])) for i in best]

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        lines = [f"Lexicon of {len(self.source)} source and {len(self.target)} target words"]
        for word in self.source[:_SHOWN]:
            best = self.translations(word, _TRANSLATIONS)
            lines.append(f"{word}: " + ", ".join(f"{other} {p:.3f}" for other, p in best))
        return "\n".join(lines + ["..."] * (len(self.source) > _SHOWN))
