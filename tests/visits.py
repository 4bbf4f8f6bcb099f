"""The files that a fit visits: whose functions run, in the order of their first call.

``python tests/visits.py`` prints them as JSON, by algorithm and stage; with ``--page`` it writes
doc/visited_files.inc, the table of doc/architecture.rst. Kernels run as plain Python here, so that
what they call is seen and nothing is compiled.
"""

import json
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from textwrap import wrap

# The package of this tree, whatever is installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

PAGE = Path(__file__).resolve().parents[1] / "doc" / "visited_files.inc"

# Rows of the table: an estimator and one of its situations.
ALGORITHMS = {
    "EM": ("EMHMMTagger", "full"),
    "VB": ("VBHMMTagger", "full"),
    "CVB, sequences": ("CVBHMMTagger", "full"),
    "CVB, sequences, no dictionary": ("CVBHMMTagger", "none"),
    "CVB, tokens": ("CVBHMMTagger", "token"),
    "Gibbs": ("GibbsHMMTagger", "full"),
    "EM, grammar": ("EMPCFG", "given"),
    "VB, grammar": ("VBPCFG", "given"),
    "CVB, grammar": ("CVBPCFG", "given"),
    "Hastings, grammar": ("HastingsPCFG", "given"),
    "EM, dependencies": ("EMDMV", "raw"),
    "VB, dependencies": ("VBDMV", "raw"),
    "CVB, dependencies": ("CVBDMV", "raw"),
    "Gibbs, dependencies": ("GibbsDMV", "raw"),
    "EM, alignment": ("EMAlignmentHMM", "raw"),
    "VB, alignment": ("VBAlignmentHMM", "raw"),
    "CVB, alignment": ("CVBAlignmentHMM", "raw"),
    "Gibbs, alignment": ("GibbsAlignmentHMM", "raw"),
    "EM, treebank": ("EMLatentPCFG", "fixed"),
    "VB, treebank": ("VBLatentPCFG", "fixed"),
    "CVB, treebank": ("CVBLatentPCFG", "fixed"),
}

# The function that begins each stage; what none of them calls belongs to the loop.
STAGES = {
    "_problem": "reads",
    "_read": "reads",
    "start": "starts",
    "sweep": "sweeps",
    "objective": "scores",
    "_fitted": "leaves",
    "_left": "leaves",
}

_HEAD = """\
.. list-table:: Taggers with a full dictionary, and given grammars, unless the row says otherwise
   :header-rows: 1
   :widths: 16 8 76

   * - algorithm: files of a fit
     - stage
     - files in the order of their first call"""
_TAIL = """

A sweep visits {} to {} files, a whole fit {} to {}.
"""

# They check parameters and say that a fit compiles.
NOT_COUNTED = {"validation.py", "compilation.py"}


def _stage_of(frame, folder):
    # What begins a stage may call others of the same names: the first call counts.
    stage = "loop"
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(folder) and code.co_name in STAGES:
            stage = STAGES[code.co_name]
        frame = frame.f_back
    return stage


def visits(situation):
    """Files by stage. Methods of tuples, which only read their fields, do not count."""
    import sklearn_cvb

    folder = str(Path(sklearn_cvb.__file__).parent)
    model = getattr(sklearn_cvb, situation.estimator)(**situation.settings)
    found = {}

    def note(frame, event, argument):
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(folder):
            return
        name = Path(path).relative_to(folder).as_posix()
        if name not in NOT_COUNTED and not isinstance(frame.f_locals.get("self"), tuple):
            # A dictionary for its order.
            found.setdefault(_stage_of(frame, folder), {})[name] = None

    sys.setprofile(note)
    try:
        model.fit(situation.X, situation.y)
        getattr(model, "labels_", None)
    finally:
        sys.setprofile(None)
    return {stage: list(names) for stage, names in found.items()}


def all_visits():
    """Files of every algorithm by stage."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    import sklearn_cvb.kernels

    for module in walk_packages(sklearn_cvb.kernels.__path__, "sklearn_cvb.kernels."):
        kernels = import_module(module.name)
        if hasattr(kernels, "few"):
            # It means something to the compiler alone.
            kernels.few = int
    from sklearn_cvb.learning.compile_cases import SITUATIONS

    warnings.simplefilter("ignore")
    return {
        name: visits(SITUATIONS[estimator][title])
        for name, (estimator, title) in ALGORITHMS.items()
    }


def n_files(stages):
    """How many files a whole fit visits."""
    return len(set().union(*stages.values()))


def page(found):
    """The table: sweeps of each algorithm, and the other stages of all of its family."""
    by_family, lines = {}, [_HEAD]
    for name in found:
        by_family.setdefault(_folder_of(ALGORITHMS[name][0]), []).append(name)
    for family, names in by_family.items():
        for name in names:
            title = f"{name}: {n_files(found[name])}"
            lines += _row(title, "sweeps", found[name]["sweeps"])
        for stage in ("reads", "starts", "scores", "leaves", "loop"):
            files = {file: None for name in names for file in found[name][stage]}
            lines += _row(f"all of ``{family}/``" if stage == "reads" else "", stage, files)
    sweeps = [len(stages["sweeps"]) for stages in found.values()]
    fits = [n_files(stages) for stages in found.values()]
    return "\n".join(lines) + _TAIL.format(min(sweeps), max(sweeps), min(fits), max(fits))


def _folder_of(estimator):
    import sklearn_cvb

    return getattr(sklearn_cvb, estimator).__module__.split(".")[1]


def _row(title, stage, files):
    files = ", ".join(f"``{name}``" for name in files)
    lines = wrap(files, 118, initial_indent="     - ", subsequent_indent="       ")
    return [f"   * - {title}".rstrip(), f"     - {stage}", *lines]


if __name__ == "__main__":
    found = all_visits()
    if "--page" in sys.argv:
        PAGE.write_text(page(found), encoding="utf-8")
    else:
        print(json.dumps(found))
