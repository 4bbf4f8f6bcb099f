"""Tables as pictures for narrow screens: a line for each row, a marker for each column."""

from textwrap import fill

from sklearn_cvb.plotting import algorithm_colours

_MARKERS = "osD^v"


def deviation(cell):
    """The deviation of a cell, 0 where it has none."""
    _, *rest = str(cell).split()
    return float(rest[0].strip("()")) if rest else 0.0


def number(cell):
    """The mean of a cell, whose deviation may stand in brackets behind it."""
    return float(str(cell).split()[0].replace(",", ""))


def draw_beside(table, path, label, logarithmic=False):
    """Draw a table whose rows are ours, then the paper's of the same case, in two panels.

    `label`: of the axis of the cases, which the first cell of our rows names.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    cases = [str(row[0]).replace(",", "") for row in table.rows[::2]]
    places = [int(case) for case in cases] if logarithmic else range(len(cases))
    names = table.header[table.header.index("EM") :]
    styles = zip(names, algorithm_colours(names), "os^vDPX", strict=False)
    for name, colour, marker in styles:
        column = table.header.index(name)
        style = {"color": colour, "marker": marker, "ms": 4, "capsize": 2, "lw": 1.2}
        for panel, rows in zip(panels, (table.rows[::2], table.rows[1::2]), strict=True):
            points = [(x, row[column]) for x, row in zip(places, rows, strict=True) if row[column]]
            if points:
                x, cells = zip(*points, strict=True)
                means, deviations = [number(cell) for cell in cells], [*map(deviation, cells)]
                panel.errorbar(x, means, deviations, label=name, **style)
    for panel, title in zip(panels, ("ours", "the paper's"), strict=True):
        panel.set(xlabel=label, title=title)
        if logarithmic:
            panel.set_xscale("log")
        panel.set_xticks(places, [str(row[0]) for row in table.rows[::2]], rotation=45)
        panel.set_xticks([], minor=True)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("token accuracy (%)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=110)


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
        colours = algorithm_colours(table.header[1:])
        for column, marker in zip(range(1, len(table.header)), _MARKERS, strict=False):
            values = [number(row[column]) for row in table.rows]
            style = {"ms": 5, "alpha": 0.8, "color": colours[column - 1]}
            axis.plot(values, range(len(names)), marker, label=table.header[column], **style)
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
