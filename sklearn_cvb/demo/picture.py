"""The main job's picture: whether its file can be written, and the drawing itself."""

from pathlib import Path

from sklearn_cvb.demo.display import missing_packages

# Formats of matplotlib that are raw bytes or need a TeX system.
_NOT_OFFERED = ("pgf", "raw", "rgba")


def picture_formats() -> list[str]:
    """Extensions of files that a picture can be saved to, in alphabetical order.

    Returns
    -------
    list of str
        Without the dot.

    Examples
    --------
    >>> from sklearn_cvb.demo.picture import picture_formats
    >>> {"jpg", "pdf", "png", "svg"} <= set(picture_formats())
    True
    """
    from matplotlib.backend_bases import FigureCanvasBase

    return sorted(set(FigureCanvasBase.get_supported_filetypes()) - set(_NOT_OFFERED))


def refusal(path: Path) -> str | None:
    """Why a picture cannot be saved to a file, in one line.

    The file is opened to see whether it can be; one that was not there before is removed again.

    Parameters
    ----------
    path : pathlib.Path
        The file that is asked for.

    Returns
    -------
    str or None
        None if the picture can be saved, or if there will be none because matplotlib is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from sklearn_cvb.demo.picture import refusal
    >>> refusal(Path("no_such_folder", "curve.png"))
    'there is no such folder'
    """
    try:
        reason = _place_refused(path) or _format_refused(path)
        if reason is None:
            _try(path)
    except OSError as error:
        return f"it cannot be written ({error.strerror})"
    return reason


def _place_refused(path: Path) -> str | None:
    if path.is_dir():
        return "this is a folder; name a file in it, such as accuracy.png"
    if not path.absolute().parent.is_dir():
        return "there is no such folder"
    return None


def _format_refused(path: Path) -> str | None:
    if "matplotlib" in missing_packages() or path.suffix[1:].lower() in picture_formats():
        return None
    return f"the name must end in one of .{', .'.join(picture_formats())}"


def _try(path: Path) -> None:
    """Open a file for writing, and leave everything as it was."""
    existed = path.exists()
    path.open("ab").close()
    if not existed:
        path.unlink()


def save_picture(curves: dict, path: Path) -> None:
    """Draw the accuracy by sweep; the file's extension decides on the format.

    Parameters
    ----------
    curves : dict of str to tuple (sweeps, accuracies)
        By title.
    path : pathlib.Path
        Where to save it.
    """
    from matplotlib.figure import Figure

    from sklearn_cvb.plotting import plot_accuracy

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    plot_accuracy(curves, ax=figure.subplots())
    figure.savefig(path, dpi=150)
