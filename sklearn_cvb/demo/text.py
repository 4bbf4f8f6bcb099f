"""The demo's text: raw sentences, a tag dictionary, and gold tags to score by."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_cvb import datasets
from sklearn_cvb.reading.dictionary import tag_dictionary_from, tags_in

FETCHERS = {
    "treebank": datasets.fetch_treebank_tagged,
    "conll2000": datasets.fetch_conll2000,
    "wsj": datasets.fetch_wsj,
    "brown": datasets.fetch_brown,
}
EMBEDDED = "pocket English"
_EMBEDDED_SENTENCES = 1000
_FEWEST_SENTENCES = 10


class TaggingText(NamedTuple):
    """Sentences to tag, and what their dictionary allows."""

    name: str  # of the corpus
    X: list[Any]
    y: list[Any]  # None where a tag is unknown
    dictionary: dict[Any, Any]
    is_whole: bool  # X is the whole corpus


class Ambiguity(NamedTuple):
    """How much a dictionary leaves open: means over tokens."""

    n_tokens: int
    n_words: int
    n_tags: int
    tags_per_token: float
    ambiguous: float
    random_choice: float


def load_text(
    corpus: str | None, data_home: str | None, n_sentences: int | None, min_count: int, seed: int
) -> TaggingText:
    """Read or generate sentences and build their dictionary.

    The corpus is a name, a file's path, or None for pocket English; the dictionary is that of the
    whole of it, but for words seen less than `min_count` times in the sentences taken.

    Raises ValueError if there are too few sentences, no tags or bad lines, OSError without a file.
    """
    if corpus is None:
        n_sentences = n_sentences or _EMBEDDED_SENTENCES
        sentences = datasets.make_pocket_english(n_sentences, random_state=seed)
        lexicon = datasets.pocket_english_dictionary()
        tagged = [[(word, tag) for tag in tags] for word, tags in lexicon.items()]
        dictionary = tag_dictionary_from(
            tagged, min_count=min_count, count_in=sentences.data, weights=False
        )
        text = TaggingText(EMBEDDED, sentences.data, sentences.target, dictionary, False)
    else:
        text = _from_corpus(corpus, data_home, n_sentences, min_count)
    if len(text.X) < _FEWEST_SENTENCES:
        raise ValueError(
            f"{text.name} gives {len(text.X)} sentences; at least {_FEWEST_SENTENCES} are needed, "
            "a tenth of which is held out"
        )
    return text


def _from_corpus(
    corpus: str, data_home: str | None, n_sentences: int | None, min_count: int
) -> TaggingText:
    name, path = corpus, Path(corpus)
    if corpus in FETCHERS:
        whole = FETCHERS[corpus](data_home=data_home)
    elif not path.is_file():
        names = ", ".join(FETCHERS)
        raise OSError(f"no file {str(path)!r}, and the named corpora are {names}")
    else:
        read = datasets.read_conllu if ".conllu" in path.suffixes[-2:] else datasets.read_word_tag
        name, whole = path.name, read(path)
    if n_sentences is not None and n_sentences > len(whole.data):
        raise ValueError(f"{name} has {len(whole.data):,} sentences, not {n_sentences:,}")
    X, y = whole.data[:n_sentences], whole.target[:n_sentences]
    if all(tag is None for tags in y for tag in tags):
        raise ValueError(f"{name} holds no tags: there is no dictionary to learn from")
    dictionary = tag_dictionary_from(
        whole.data, whole.target, min_count=min_count, count_in=X, weights=False
    )
    return TaggingText(name, X, y, dictionary, len(X) == len(whole.data))


class HeldOutText(NamedTuple):
    """Sentences split in two; `is_known` says of each held-out token whether its word was seen."""

    training: TaggingText
    X: list[Any]
    y: list[Any]
    is_known: list[Any]


def hold_out(text: TaggingText, min_count: int, seed: int) -> HeldOutText:
    """Hold out a tenth of the sentences; the dictionary is of the other nine tenths alone."""
    X, held_out, y, gold = train_test_split(text.X, text.y, test_size=0.1, random_state=seed)
    dictionary = tag_dictionary_from(X, y, min_count=min_count, weights=False)
    training = text._replace(X=X, y=y, dictionary=dictionary, is_whole=False)
    words = {word for sentence in X for word in sentence}
    is_known = [[word in words for word in sentence] for sentence in held_out]
    return HeldOutText(training, held_out, gold, is_known)


def ambiguity(text: TaggingText) -> Ambiguity:
    """Measure how much the dictionary leaves open in the text."""
    n_tags = len(tags_in(text.dictionary))
    words = [word for sentence in text.X for word in sentence]
    n_legal = np.array([len(text.dictionary.get(word, ())) or n_tags for word in words])
    return Ambiguity(
        len(words),
        len(set(words)),
        n_tags,
        float(n_legal.mean()),
        float(np.mean(n_legal > 1)),
        float(np.mean(1 / n_legal)),
    )
