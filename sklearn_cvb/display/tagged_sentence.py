"""A sentence and its tags, shown in a notebook and as text on a terminal."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np

from sklearn_cvb.display.svg import html_page
from sklearn_cvb.display.tagged_words import (
    SOURCES,
    TaggedWord,
    html_of,
    legend_text,
    tag_words,
    text_of,
    verdict,
)
from sklearn_cvb.display.texts import check_length, items_of, text_of_one
from sklearn_cvb.reading.corpus import is_missing


class TaggedSentence:
    """A tagged sentence to look at: which tags the dictionary told, which are guesses, and errors.

    A notebook shows tags below words; ``print`` shows words and tags side by side. `from_estimator`
    tags a sentence by a fitted tagger and says what the tagger knew of each word. What colours
    tell is told by marks, too, and a legend explains those that occur:

    ======  ==========================================================================
    mark    what told the tag
    ======  ==========================================================================
    (none)  the dictionary, which lists no other tag
    ``⁺``   the dictionary, which lists several
    ``†``   labels of the same word in `fit`; it is not in the dictionary
    ``≈``   the form of the word, which neither dictionary nor labels know
    ``…``   nothing but its neighbours: the word may take any open tag
    ``✓``   its own label
    ``⁻``   and tags of the word's entry were dropped (see `denoise` of `TagDictionary`)
    ``?``   and its posterior is below 0.5
    ======  ==========================================================================

    Parameters
    ----------
    tokens : sequence
        The words.
    tags : sequence
        A tag for each word.
    gold : sequence, default=None
        The true tags. Where they differ they stand in brackets, in a notebook below the tag, which
        is dashed. Tokens whose true tag is None are left out of the count.
    sources : sequence of str or None, default=None
        What told each tag: "dictionary", "ambiguous", "seen", "form", "open" (see `tag_sources` of
        the taggers), "label", or None.
    dropped : dict, default=None
        The tags that words have lost, as in `dropped_tags_` of the taggers.
    probabilities : sequence of float, default=None
        The posterior of each tag, from 0 to 1; None where it is not known.

    Attributes
    ----------
    words : list of TaggedWord
        All of it, as text.

    Raises
    ------
    TypeError
        If a sentence is a string, or probabilities are no numbers.
    ValueError
        If lengths differ, or a source or probability is none.

    Examples
    --------
    >>> from sklearn_cvb import EMHMMTagger
    >>> from sklearn_cvb.display import TaggedSentence
    >>> X = [["the", "duck", "swims"], ["they", "duck"], ["the", "dog", "swims"]]
    >>> legal = {"the": ["DT"], "they": ["PRP"], "dog": ["NN"], "duck": ["NN", "VB"]}
    >>> legal["swims"] = ["VB"]
    >>> tagger = EMHMMTagger(legal, random_state=0).fit(X)
    >>> gold = ["DT", "NN", "VB"]
    >>> print(TaggedSentence.from_estimator(tagger, ["the", "duck", "swam"], gold=gold))
    the/DT duck/NN⁺ swam/VB≈
    no mark: one tag in the dictionary
    ⁺ several tags in the dictionary
    ≈ in neither dictionary nor labels: guessed by form
    3 of 3 tags right
    >>> print(TaggedSentence(["they", "duck"], ["PRP", "NN"], gold=["PRP", "VB"]))
    they/PRP duck/NN[VB]
    1 of 2 tags right; brackets: gold
    """

    def __init__(
        self,
        tokens: Sequence[Any],
        tags: Sequence[Any],
        *,
        gold: Sequence[Any] | None = None,
        sources: Sequence[str | None] | None = None,
        dropped: Mapping[Any, Any] | None = None,
        probabilities: Sequence[float | None] | None = None,
    ) -> None:
        given = _sentence(tokens)
        n = len(given)
        true = [None] * n if gold is None else _of_tokens(gold, "gold", n)
        words = tag_words(given, _of_tokens(tags, "tags", n), true)
        told = [None] * n if sources is None else _of_tokens(sources, "sources", n)
        for t, source in enumerate(told):
            if source is not None and source not in SOURCES:
                known = ", ".join(map(repr, SOURCES))
                raise ValueError(f"sources[{t}] is {source!r}: give None or one of {known}")
        lost = (
            [()] * n
            if dropped is None
            else [tuple(map(text_of_one, dropped.get(token) or ())) for token in given]
        )
        sure = [None] * n if probabilities is None else _probabilities(probabilities, n)
        self.words: list[TaggedWord] = [
            word._replace(source=source, dropped=some, probability=p)
            for word, source, some, p in zip(words, told, lost, sure, strict=True)
        ]
        self._n_known = sum(not is_missing(tag) for tag in true)
        self._has_gold = gold is not None

    @classmethod
    def from_estimator(
        cls,
        tagger: Any,
        tokens: Sequence[Any],
        *,
        gold: Sequence[Any] | None = None,
        labels: Sequence[Any] | None = None,
        tags: Sequence[Any] | None = None,
    ) -> Self:
        """Tag a sentence by a fitted tagger.

        Parameters
        ----------
        tagger : estimator
            A fitted tagger, such as `CVBHMMTagger`.
        tokens : sequence
            The words of one sentence.
        gold : sequence, default=None
            The true tags, None where they are not known.
        labels : sequence, default=None
            For a sentence of the training text, what `y` said of it in `fit`: tags, and None where
            they were not known. These tags are shown.
        tags : sequence, default=None
            Tags to show, such as `labels_` of a sentence of the training text; None for those that
            the tagger predicts.

        Returns
        -------
        TaggedSentence

        Raises
        ------
        TypeError
            If the estimator is no tagger.

        Examples
        --------
        >>> from sklearn_cvb import EMHMMTagger
        >>> from sklearn_cvb.display import TaggedSentence
        >>> X, y = [["they", "can", "fish"]], [[None, "MD", None]]
        >>> legal = {"they": "PRP", "can": ["MD", "NN"], "fish": ["NN", "VB"]}
        >>> tagger = EMHMMTagger(legal, random_state=0).fit(X, y)
        >>> shown = TaggedSentence.from_estimator(tagger, X[0], labels=y[0], tags=tagger.labels_[0])
        >>> shown.words[1]
        TaggedWord(word='can', tag='MD', gold=None, source='label', dropped=(), probability=None)
        """
        if not hasattr(tagger, "tag_sources"):
            raise TypeError(
                f"tagger is {tagger!r}: give a fitted tagger, such as CVBHMMTagger, or pass tokens "
                "and tags to TaggedSentence itself"
            )
        sentence = _sentence(tokens)
        n = len(sentence)
        sources = tagger.tag_sources([sentence])[0].tolist()
        shown = tagger.predict([sentence])[0] if tags is None else tags
        shown = _of_tokens(shown, "tags", n)
        sure = _posteriors(tagger, sentence, shown)
        for t, label in enumerate([] if labels is None else _of_tokens(labels, "labels", n)):
            if not is_missing(label):
                shown[t], sources[t], sure[t] = label, "label", None
        return cls(
            sentence,
            shown,
            gold=gold,
            sources=sources,
            dropped=tagger.dropped_tags_,
            probabilities=sure,
        )

    def to_text(self, width: int = 80, *, colour: bool = False, legend: bool = True) -> str:
        """The sentence as text.

        Parameters
        ----------
        width : int, default=80
            Columns after which a line is broken, between words.
        colour : bool, default=False
            Whether to colour it, by ANSI escape codes.
        legend : bool, default=True
            Whether lines below it explain the marks, and say how many tags are right.

        Returns
        -------
        str

        Examples
        --------
        >>> from sklearn_cvb.display import TaggedSentence
        >>> sentence = TaggedSentence(["they", "can", "fish"], ["PRP", "MD", "VB"])
        >>> print(sentence.to_text(width=20))
        they/PRP can/MD
        fish/VB
        """
        parts = [text_of(self.words, width, colour)]
        if legend:
            parts += [legend_text(self.words, width), self._verdict("brackets: gold") or ""]
        return "\n".join(filter(None, parts))

    def to_html(self) -> str:
        """A page of its own.

        Returns
        -------
        str
            HTML, to be written in UTF-8; light or dark as the reader's other pages are.

        Examples
        --------
        >>> from sklearn_cvb.display import TaggedSentence
        >>> TaggedSentence(["they", "duck"], ["PRP", "VB"]).to_html()[:15]
        '<!DOCTYPE html>'
        """
        return html_page(self._repr_html_(), " ".join(word.word for word in self.words))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        tokens, tags = [word.word for word in self.words], [word.tag for word in self.words]
        return f"{type(self).__name__}({tokens!r}, {tags!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_of(self.words, self._verdict("dashed: wrong; below: gold"))

    def _verdict(self, how_shown: str) -> str | None:
        return verdict(self.words, self._n_known, how_shown) if self._has_gold else None


def _sentence(tokens: Any) -> list[Any]:
    sentence = items_of(tokens, "tokens")
    if not sentence:
        raise ValueError("tokens is empty: a sentence has at least one token")
    return sentence


def _of_tokens(given: Any, name: str, n: int) -> list[Any]:
    return check_length(items_of(given, name), name, n)


def _probabilities(given: Any, n: int) -> list[float | None]:
    checked: list[float | None] = []
    for t, p in enumerate(_of_tokens(given, "probabilities", n)):
        if is_missing(p):
            checked.append(None)
            continue
        if not isinstance(p, Real):
            raise TypeError(f"probabilities[{t}] is {p!r}: give a number, or None")
        # Sums of posteriors may be off by rounding.
        if not -1e-6 <= float(p) <= 1 + 1e-6:
            raise ValueError(f"probabilities[{t}] is {p!r}: it must be from 0 to 1")
        checked.append(float(p))
    return checked


def _posteriors(tagger: Any, sentence: list[Any], tags: list[Any]) -> list[float | None]:
    """Posteriors of a sentence's tags; None for what is no tag of the tagger."""
    with warnings.catch_warnings():
        # What there is to say of this sentence has been said when it was tagged.
        warnings.simplefilter("ignore", UserWarning)
        table = tagger.predict_proba([sentence])[0]
    columns = {tag: k for k, tag in enumerate(tagger.classes_.tolist())}
    return [
        float(row[columns[tag]]) if tag in columns else None
        for row, tag in zip(np.asarray(table), tags, strict=True)
    ]
