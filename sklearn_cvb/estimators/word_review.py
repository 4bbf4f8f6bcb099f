"""Which words of a tagger are worth a look."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sklearn_cvb.estimators.base_taggers import BaseHMMTagger
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.messages import warn
from sklearn_cvb.reading.corpus import encode, sequences_again, unknown_in
from sklearn_cvb.reading.unknown_tokens import caution_of_unknown

if TYPE_CHECKING:
    from sklearn_cvb.display.word_table import WordTable


class WordReview(BaseHMMTagger):
    """What lists the words whose tags are worth a look."""

    def words_to_check(self, X: Any, n: int = 50) -> "WordTable":
        """The words whose tags are worth a look: those with the most uses times tags.

        A wrong tag of a frequent word costs more than all else in a dictionary, and what is wrong
        is seen at a glance. Save the table, correct `tags`, name the `usual` tag where you can,
        and fit again with ``{**dictionary, **tag_dictionary_from(table)}``.

        Parameters
        ----------
        X : list, object array or Series of sequences
            Raw sentences, such as those of `fit`.
        n : int, default=50
            How many words.

        Returns
        -------
        WordTable
            Without words whose entry, or labels in `fit`, already say how often tags were seen.
        """
        from sklearn_cvb.display.word_table import words_to_check

        learned, known = learned_of(self), self._options(to_fit=False).words
        sequences, words = sequences_again(known, self._checked_input(X)), learned.words
        unknown = unknown_in(encode(sequences, words.index), words.index, words.listed)
        warn(caution_of_unknown(unknown, words.index))
        sentences = [sequences.tokens[a:b] for a, b in pairwise(sequences.starts)]
        return words_to_check(words, learned.counts.emission, sentences, n)
