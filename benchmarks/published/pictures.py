"""Tables as pictures for narrow screens: a line for each row, a marker for each column."""

from textwrap import fill

_MARKERS = "osD^v"


def number(cell):
    """The mean of a cell, whose deviation may stand in brackets behind it."""
    return float(str(cell).split()[0].replace(",", ""))


def draw_dots(panels, path, numbers, nearly_zero=None):
    """Draw tables of the same rows side by side.

    `panels`: tables by title. `numbers`: what they show. `nearly_zero`: from this size on the
    axis is logarithmic, on both sides of 0.
    """
    from matplotlib.figure import Figure

    names = [fill(row[0], 32) for row in next(iter(panels.values())).rows]
    figure = Figure(figsize=(6.4, 1.3 + 0.32 * len(names)), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (title, table) in zip(axes, panels.items(), strict=True):
        for column, marker in zip(range(1, len(table.header)), _MARKERS, strict=False):
            values = [number(row[column]) for row in table.rows]
            axis.plot(
                values, range(len(names)), marker, ms=5, alpha=0.8, label=table.header[column]
            )
        if nearly_zero:
            axis.set_xscale("symlog", linthresh=nearly_zero)
            axis.axvline(0, color="0.5", linewidth=0.8)
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    figure.supxlabel(numbers, fontsize=10)
    lines = max((axis.get_legend_handles_labels() for axis in axes), key=lambda some: len(some[0]))
    figure.legend(*lines, loc="outside upper center", ncols=len(lines[0]), frameon=False)
    figure.savefig(path, dpi=150)
