"""Text files in UTF-8, also compressed ones, and which line is none."""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn_cvb.reading.validation import Folder

# What a line holds that is no text: zeros, and bytes that are not UTF-8 ("surrogateescape").
_NO_TEXT = re.compile("[\0\udc80-\udcff]")
_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def text_lines(path: Folder) -> Iterator[tuple[int, str]]:
    """Numbers from 1 and lines of a text in UTF-8, also of a compressed file.

    >>> import gzip, pathlib, tempfile
    >>> from sklearn_cvb.reading.text_files import text_lines
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "text.txt.gz")
    ...     _ = path.write_bytes(gzip.compress(b"we ran"))
    ...     list(text_lines(path))
    [(1, 'we ran')]
    """
    with open_text(path, encoding="utf-8-sig", errors="surrogateescape") as stream:
        for number, line in enumerate(stream, start=1):
            if _NO_TEXT.search(line):
                raise ValueError(
                    f"{path}, line {number}: this is no text in UTF-8; the name of a compressed "
                    f"file must end in {', '.join(_OPEN)}, and text in another encoding be "
                    "converted, as with iconv -t UTF-8"
                )
            yield number, line


@contextmanager
def open_text(path: Folder, mode: str = "rt", **options: Any) -> Iterator[Any]:
    """A file of text, compressed if its name says so."""
    try:
        with _OPEN.get(Path(path).suffix, open)(path, mode, **options) as stream:
            yield stream
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        # Errors of the file system have a number.
        if getattr(error, "errno", None) is not None:
            raise
        raise ValueError(
            f"{path} is not compressed as its name says ({error}): give it the ending it should "
            "have, or fetch it again"
        ) from error
