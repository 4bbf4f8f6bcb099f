"""No test waits by the clock or compares seconds: on a busy machine it would fail."""

import re
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]
# What is started by hand, and prints how long it took.
_BY_HAND = ("faults.py", "random_kills.py")
_LOOKS = re.compile(
    r"\b(?:sleep|perf_counter|monotonic|process_time|thread_time)(?:_ns)?\(|\btime\.time\("
    r"|\bthreading\.Timer\("
)
# How long what never ends is waited for; a browser counts milliseconds.
_LIMIT = re.compile(r"\btimeout=([\d_]+)")


def test_no_test_waits_by_the_clock():
    files = [*_TESTS.rglob("*.py"), *(_TESTS.parent / "benchmarks" / "tests").rglob("*.py")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    found = [
        (str(file), here)
        for file, text in texts.items()
        if file.name not in _BY_HAND
        for here in [*_LOOKS.findall(text), *(n for n in _LIMIT.findall(text) if int(n) < 60)]
    ]
    assert found == []
