"""Kernels of grammars are compiled for one set of types, whatever the sentences and the grammar."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

# What Python calls; the parts they are made of are compiled into them.
CALLED = [
    "kernels.tree.k_best.k_best_trees",
    "kernels.tree.spans.fill_closure",
    "kernels.tree.decoding.viterbi_trees",
    "kernels.tree.table_products.dense_rule_counts",
    "kernels.tree.table_sentences.sample_trees_by_tables",
    "kernels.tree.forests._add_sentences",
    "kernels.tree.forest_inference.best_forest_trees",
    "kernels.tree.forest_inference.expected_forest_counts",
    "kernels.tree.forest_inference.sample_forest_trees",
    "kernels.tree.lists.expected_rule_counts",
    "kernels.tree.lists.log_likelihood",
    "kernels.tree.lists.span_posteriors",
    "kernels.tree.sampling.sample_trees",
    "kernels.tree.forest_sweeps.left_out_forest_trees",
    "kernels.tree.forest_sweeps.score_forest",
    "kernels.tree.forest_sweeps.sweep_forest",
    "kernels.tree.forest_sweeps.sweep_forest_hastings",
    "kernels.tree.leave_out.add_share",
    "kernels.tree.leave_out.leave_out_scores",
    "kernels.tree.leave_out.sweep_sentences",
    "kernels.tree.leave_out.sweep_tables",
    "kernels.tree.leave_out.weigh",
    "kernels.tree.leave_out.weights_for",
    "kernels.tree.hastings.sweep_hastings",
    "kernels.tree.hastings.sweep_hastings_by_tables",
]
TEXTS = ["S -> S S | 'a' | 'b' 'a'", "S -> A | A S\nA -> A B | B | 'a'\nB -> A | 'b' | 'a' A 'b'"]


def _fit_and_read(kind, X, new, y=None, **keywords):
    settings = {"random_state": 0, "max_iter": 3} | keywords
    model = kind(**settings).fit(X, y)
    model.predict(new)
    model.predict_proba(new)
    model.parse(new, n_best=2)
    model.score(new)


def _types_of_all_kernels():
    """Kernels with more than one set of types after fits of every class in several forms."""
    import numpy as np
    from kernels.test_compilation import dispatchers

    import sklearn_cvb

    warnings.simplefilter("ignore")
    table = np.random.default_rng(0).integers(3, size=(5, 4))
    for name in ("EMPCFG", "VBPCFG", "CVBPCFG", "HastingsPCFG", "GibbsPCFG"):
        kind = getattr(sklearn_cvb, name)
        for text in TEXTS:
            X = [list("aba"), list("ab"), list("a")]
            _fit_and_read(kind, X, X, grammar=text)
            _fit_and_read(kind, X, X[:1], [[(0, 2)], None, None], grammar=text, alpha=0.5)
        _fit_and_read(kind, table, table[:2], n_components=1)
        _fit_and_read(kind, table.astype("float32"), table[:, ::-1], n_components=9, n_jobs=2)
        if name != "EMPCFG":
            _fit_and_read(kind, X, X, grammar=TEXTS[0], alpha="auto", max_iter=22, tol=0)
    kernels = dispatchers()
    return {key: len(kernel.signatures) for key, kernel in kernels.items() if kernel.signatures}


def test_every_kernel_has_one_set_of_types():
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    n_types = json.loads(done.stdout.splitlines()[-1])
    assert {name: n_types[f"sklearn_cvb.{name}"] for name in CALLED} == dict.fromkeys(CALLED, 1)


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[n]) for n in (1, 2)]
    print(json.dumps(_types_of_all_kernels()))
