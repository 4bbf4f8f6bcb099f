"""Other libraries' word alignment: sil-thot's models, and eflomal's sampler."""

from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn_cvb import read_pharaoh

# Of each of sil-thot's models in a chain.
_SWEEPS = 5


def thot_hmm(X):
    """Five iterations of EM for IBM model 1, then five for the hidden Markov model."""
    from thot.alignment import HmmAlignmentModel, Ibm1AlignmentModel

    first = _trained(Ibm1AlignmentModel(), X, is_bayesian=False)
    return _links(_trained(HmmAlignmentModel(first), X, is_bayesian=False, is_new=False), X)


def thot_hmm_vb(X):
    """The same by variational Bayes."""
    from thot.alignment import HmmAlignmentModel, Ibm1AlignmentModel

    first = _trained(Ibm1AlignmentModel(), X, is_bayesian=True)
    return _links(_trained(HmmAlignmentModel(first), X, is_bayesian=True, is_new=False), X)


def thot_fast_align(X):
    """fast_align's model by variational Bayes, five iterations."""
    from thot.alignment import FastAlignModel

    return _links(_trained(FastAlignModel(), X, is_bayesian=True), X)


def _trained(model, X, is_bayesian, is_new=True):
    model.variational_bayes = is_bayesian
    if is_new:
        for source, target in X:
            model.add_sentence_pair(source, target, 1)
    model.start_training()
    for _ in range(_SWEEPS):
        model.train()
    model.end_training()
    return model


def _links(model, X):
    found = []
    for source, target in X:
        matrix = model.get_best_alignment(source, target)[1].to_numpy()
        found.append([(int(i), int(j)) for i, j in zip(*matrix.nonzero(), strict=True)])
    return found


def eflomal(X):
    """eflomal with its defaults, whose one run aligns both directions; forward links."""
    return _eflomal(X)[0]


def _eflomal(X):
    from eflomal import Aligner

    sides = [[" ".join(pair[k]) + "\n" for pair in X] for k in range(2)]
    with TemporaryDirectory() as folder:
        names = [str(Path(folder, name)) for name in ("forward", "backward")]
        Aligner().align(
            *sides, links_filename_fwd=names[0], links_filename_rev=names[1], quiet=True
        )
        return [read_pharaoh(name) for name in names]


def both(align, X, turned):
    """Links of either direction, both as (source, target).

    Parameters
    ----------
    align : callable
        One of the functions of this file.
    X, turned : list of pairs
        Sentence pairs, and the same turned round.

    Returns
    -------
    list of list
    """
    if align is eflomal:
        return _eflomal(X)
    return [align(X), [[(b, a) for a, b in links] for links in align(turned)]]


PEERS = {
    "thot-hmm": ("sil-thot, HMM by EM", thot_hmm),
    "thot-hmm-vb": ("sil-thot, HMM by VB", thot_hmm_vb),
    "thot-fast-align": ("sil-thot, fast_align by VB", thot_fast_align),
    "eflomal": ("eflomal, sampling with fertility", eflomal),
}
