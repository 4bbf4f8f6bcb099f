"""Gold trees: of the Penn Treebank sample, and drawn from any grammar."""

from typing import Any

from sklearn.utils import Bunch, check_random_state

from sklearn_cvb.datasets.corpora import find_corpus, nltk_root
from sklearn_cvb.grammar.grammar import grammar_from
from sklearn_cvb.grammar.sampling import sample_trees
from sklearn_cvb.reading.validation import Folder, Seed
from sklearn_cvb.treebank.reading import TRACE, bare_label

DESCRIPTION = """Penn Treebank sample, parsed.

3,914 sentences of the Wall Street Journal, files wsj_0001 to wsj_0199, with hand-made trees, as
distributed with NLTK. Empty elements, function tags and indices are removed unless asked for. For
non-commercial use."""


def make_pcfg_corpus(
    grammar: Any, n_samples: int = 100, *, longest: int = 40, random_state: Seed = None
) -> tuple[list, list]:
    """Draw sentences and their trees from a grammar.

    Parameters
    ----------
    grammar : str, nltk.PCFG, nltk.CFG, Grammar, or list of trees
        A grammar in NLTK's notation, of NLTK's, of this package's, or a treebank. Without
        probabilities all rules of a symbol are equally likely.
    n_samples : int, default=100
        Number of sentences.
    longest : int, default=40
        Derivations of more words are drawn again.
    random_state : int, RandomState or None, default=None
        Seed or source of randomness.

    Returns
    -------
    X : list of n_samples lists of words
    trees : list of n_samples nltk.Tree

    Raises
    ------
    ValueError
        If a number is not positive, the grammar is of no use, or nearly all its derivations are
        too long.

    Examples
    --------
    >>> from sklearn_cvb.datasets import make_pcfg_corpus
    >>> X, trees = make_pcfg_corpus("S -> 'a' S 'b' [0.4] | 'a' 'b' [0.6]", 2, random_state=0)
    >>> X
    [['a', 'b'], ['a', 'b']]
    >>> print(trees[0])
    (S a b)
    """
    grammar = grammar_from(grammar).check()
    probabilities = grammar.probabilities
    if probabilities is None:
        probabilities = [1.0] * len(grammar.rules)
    rng = check_random_state(random_state)
    X, trees = sample_trees(grammar, probabilities, n_samples, longest, rng)
    return X.tolist(), trees.tolist()


def fetch_treebank_trees(
    *, data_home: Folder | None = None, download_if_missing: bool = True, clean: bool = True
) -> Bunch:
    """Load the trees of the Penn Treebank sample.

    Sentences come in the order of `fetch_treebank_tagged`; with ``clean=True`` their words are the
    same.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (1.7 MB) where it is not found.
    clean : bool, default=True
        Remove empty elements (tag -NONE-) and what is empty without them, and cut labels at ``-``,
        ``=`` and ``|``: NP-SBJ-1 becomes NP.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 3,914 lists of words), ``target`` (their nltk.Tree) and ``DESCR``.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_treebank_trees
    >>> fetch_treebank_trees().target[1].label()  # doctest: +SKIP
    'S'
    """
    from nltk.corpus.reader import BracketParseCorpusReader

    path = find_corpus("treebank", data_home=data_home, download_if_missing=download_if_missing)
    with nltk_root(path, "treebank/combined/") as root:
        reader = BracketParseCorpusReader(root, r"wsj_.*\.mrg", encoding="ascii")
        trees = list(reader.parsed_sents())
    if clean:
        trees = [without_traces(tree) for tree in trees]
    return Bunch(data=[tree.leaves() for tree in trees], target=trees, DESCR=DESCRIPTION)


def without_traces(tree: Any) -> Any:
    """A tree without empty elements, function tags and indices; None if nothing is left.

    Parameters
    ----------
    tree : nltk.Tree
        A tree of the Penn Treebank.

    Returns
    -------
    nltk.Tree or None

    Examples
    --------
    >>> from nltk import Tree
    >>> from sklearn_cvb.datasets.trees import without_traces
    >>> print(without_traces(Tree.fromstring("(S (NP-SBJ-1 (-NONE- *)) (VP-TPC (VB go)))")))
    (S (VP (VB go)))
    """
    from nltk import Tree

    if tree.label() == TRACE:
        return None
    children = [without_traces(child) if isinstance(child, Tree) else child for child in tree]
    children = [child for child in children if child is not None]
    return Tree(bare_label(tree.label()), children) if children else None
