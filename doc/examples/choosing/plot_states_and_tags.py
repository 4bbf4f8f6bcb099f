"""
How do I score states that have no names?
=========================================

Without a dictionary a model's states are numbers. To compare them with tags, map each state to its
most frequent tag (many-to-one), pair states and tags (one-to-one), or measure what they say of each
other (V-measure). The text is generated (:func:`~sklearn_cvb.datasets.make_pocket_english`).
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt

from sklearn_cvb import CVBHMM
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.metrics import many_to_one_accuracy, one_to_one_accuracy, v_measure
from sklearn_cvb.plotting import plot_confusion

corpus = make_pocket_english(150, random_state=0)
gold = [[tag[:2] for tag in tags] for tags in corpus.target]
numbers = [2, 5, 10, 20]
models = [CVBHMM(k, max_iter=20, random_state=0).fit(corpus.data) for k in numbers]

# %%
# Many-to-one accuracy rises with the number of states, whatever they are: with a state for each
# word it is nearly 100 %. So give it with the number of states. One-to-one accuracy leaves all
# states beyond the number of tags without one, so that more states do not help for ever.

metrics = {
    "many-to-one accuracy": many_to_one_accuracy,
    "one-to-one accuracy": one_to_one_accuracy,
    "V-measure": v_measure,
}
fig, ax = plt.subplots(layout="constrained")
for (name, metric), marker in zip(metrics.items(), "os^", strict=True):
    ax.plot(numbers, [100 * metric(gold, m.labels_) for m in models], marker=marker, label=name)
ax.set(xscale="log", xlabel="states", ylabel="score (%)", ylim=(0, None))
ax.set_xticks(numbers, labels=[str(k) for k in numbers])
ax.minorticks_off()
ax.grid(alpha=0.3)
legend = ax.legend()

# %%
# Which tags are in which state, of the model with ten:

ax = plot_confusion(gold, models[2].labels_, max_labels=10)
