"""The shape of the code: small functions and files, numba in kernels alone, algorithms once."""

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import sklearn_cvb
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.learning.algorithms import Algorithm

_PACKAGE = Path(sklearn_cvb.__file__).parent
_TEXTS = {
    path.relative_to(_PACKAGE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(_PACKAGE.rglob("*.py"))
}
_KERNELS = "sklearn_cvb.kernels."
_OF_FAMILIES = ("alignment/", "chain/", "dependency/", "grammar/", "treebank/", "estimators/")
_MOST_ARGUMENTS, _LONGEST_BODY, _LONGEST_FILE = 8, 60, 500


@cache
def _trees():
    """Files and what they say, read when a test asks."""
    return {name: ast.parse(text) for name, text in _TEXTS.items()}


@cache
def _nodes(name):
    """All that a file says, node by node."""
    return tuple(ast.walk(_trees()[name]))


@cache
def _functions():
    """File, class (None outside of one) and node of all functions."""
    return tuple(_functions_file_by_file())


def _functions_file_by_file():
    for name in _TEXTS:
        nodes = _nodes(name)
        owners = {
            part: node.name
            for node in nodes
            if isinstance(node, ast.ClassDef)
            for part in node.body
        }
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, owners.get(node), node


def _n_arguments(owner, function):
    """How many arguments a caller may give."""
    given = function.args
    names = [part.arg for part in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    is_bound = owner is not None and names[:1] in (["self"], ["cls"])
    return len(names) - is_bound + (given.vararg is not None) + (given.kwarg is not None)


def _body_length(function):
    """Lines of a body without its docstring."""
    body = function.body if ast.get_docstring(function) is None else function.body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@cache
def _imports(name):
    """The modules, and the names in them, that a file imports."""
    return tuple(_imports_of(_nodes(name)))


def _imports_of(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (part.name for part in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{part.name}" for part in node.names)


def test_functions_take_few_arguments():
    found = [(name, f.name, _n_arguments(owner, f)) for name, owner, f in _functions()]
    assert [row for row in found if row[2] > _MOST_ARGUMENTS] == []


def test_functions_are_short():
    found = [(name, f.name, _body_length(f)) for name, _, f in _functions()]
    assert [row for row in found if row[2] > _LONGEST_BODY] == []


def _n_code_lines(name):
    """Lines of a file that are neither blank nor comment nor docstring."""
    docstrings = set()
    for node in _nodes(name):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(map(str.strip, _TEXTS[name].splitlines()), 1)
    return sum(bool(line) and line[0] != "#" and n not in docstrings for n, line in lines)


def test_files_are_short():
    found = {name: _n_code_lines(name) for name in _TEXTS}
    assert {name: n for name, n in found.items() if n > _LONGEST_FILE} == {}


def test_models_compile_nothing():
    """Numba and what is compiled stay below `kernels`."""
    found = [
        (name, module)
        for name in _TEXTS
        if name.startswith(_OF_FAMILIES)
        for module in _imports(name)
        if module.split(".")[0] in ("numba", "llvmlite") or module.startswith(f"{_KERNELS}jit")
    ]
    decorated = [
        (name, f.name)
        for name, _, f in _functions()
        if name.startswith(_OF_FAMILIES)
        and any("jit" in ast.unparse(decorator) for decorator in f.decorator_list)
    ]
    assert (found, decorated) == ([], [])


def test_kernels_know_nothing_but_kernels():
    found = [
        (name, module)
        for name in _TEXTS
        if name.startswith("kernels/")
        for module in _imports(name)
        if module.split(".")[0] == "sklearn_cvb" and not module.startswith(_KERNELS)
    ]
    assert found == []


# Algorithms are written once, and families are values that they are handed

_FAMILIES = ("alignment", "dependency", "grammar", "treebank", "chain/symbols", "chain/numbers")
_MODELS = tuple(f"{family}/model.py" for family in _FAMILIES)


def _classes():
    """File and name of all classes."""
    for name in _TEXTS:
        yield from ((name, node.name) for node in _nodes(name) if isinstance(node, ast.ClassDef))


def _is_algorithm(name):
    """Whether what is imported under this full name is an algorithm, or a whole file of them."""
    module, _, last = name.rpartition(".")
    if module == "sklearn_cvb.learning":
        found = vars(import_module(name)).values()
    elif module.startswith("sklearn_cvb.learning."):
        found = [getattr(import_module(module), last)]
    else:
        return False
    return any(isinstance(one, type) and issubclass(one, Algorithm) for one in found)


def test_no_family_sweeps_by_itself():
    hooks = ("_sweep", "_start", "_penalty")
    assert [(name, f.name) for name, _, f in _functions() if f.name in hooks] == []


def test_algorithms_know_no_family_and_no_estimator():
    shared = (
        "compilation.announcement.",
        "messages.",
        "reading.validation.",
        "kernels.special.",
        "kernels.jit.",
        "settings.",
        "version",
    )
    known = ("sklearn_cvb.learning.", *(f"sklearn_cvb.{name}" for name in shared))
    found = [
        (name, module)
        for name in _TEXTS
        if name.startswith("learning/")
        for module in _imports(name)
        if module.split(".")[0] == "sklearn_cvb" and not module.startswith(known)
    ]
    assert found == []


def test_models_know_no_algorithm():
    """What a chain remembers and what is averaged over samples are no algorithms."""
    assert _is_algorithm("sklearn_cvb.learning.algorithms.EM")
    assert not _is_algorithm("sklearn_cvb.learning.gibbs.means_over_samples")
    found = [
        (name, imported)
        for name in _MODELS
        for imported in _imports(name)
        if _is_algorithm(imported)
    ]
    assert found == []


def test_one_state_is_that_of_all_algorithms():
    states = [(name, one) for name, one in _classes() if one == "State"]
    others = [
        (name, one)
        for name, one in _classes()
        if one.endswith(("BatchState", "CVBState", "SamplerState", "GibbsState"))
    ]
    assert (states, others) == ([("learning/model.py", "State")], [])


# How code is walked through

# Returns of a second fit and a second prediction: how often the walk comes back to a file that it
# had left, in the order in which functions are first called; those of one statement, as hooks are
# that hand on what is in memory, are no stations.
_RETURNS = {
    ("CVBHMMTagger", "full"): (58, 18),
    ("CVBHMM", "none"): (58, 12),
    ("EMHMM", "none"): (67, 12),
    ("GibbsHMM", "gaussian"): (83, 18),
    ("CVBPCFG", "given"): (45, 9),
    ("CVBDMV", "raw"): (36, 8),
    ("CVBAlignmentHMM", "raw"): (32, 12),
}


def _functions_of_one_statement():
    """File and first line of each."""
    found = set()
    for name in _TEXTS:
        for node in _nodes(name):
            if isinstance(node, ast.FunctionDef):
                said = ast.get_docstring(node) is not None
                if len(node.body) - said == 1:
                    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                    found.add((str(_PACKAGE / name), first))
    return found


def _returns_of(call):
    """How often a call comes back to a file of the package."""
    route, seen, passed_through = [], set(), _functions_of_one_statement()

    def spy(frame, event, argument):
        code = frame.f_code
        name = code.co_filename
        is_ours = name.startswith(str(_PACKAGE)) and "<" not in name
        is_ours &= (name, code.co_firstlineno) not in passed_through
        if event == "call" and is_ours and code not in seen:
            seen.add(code)
            if not route or route[-1] != name:
                route.append(name)

    before = sys.getprofile()
    sys.setprofile(spy)
    try:
        call()
    finally:
        sys.setprofile(before)
    return len(route) - len(set(route))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(("name", "title"), _RETURNS)
def test_fits_and_predictions_do_not_wander_between_files(name, title):
    situation = SITUATIONS[name][title]
    # Kernels are compiled, or read from the disk, when they are first called.
    situation.fit().predict(situation.X_new)
    model = situation.unfitted()
    of_fit = _returns_of(lambda: model.fit(situation.X, situation.y))
    of_prediction = _returns_of(lambda: model.predict(situation.X_new))
    assert 0 < of_prediction <= _RETURNS[name, title][1]
    assert 0 < of_fit <= _RETURNS[name, title][0]


def _imported_modules():
    """Module by module, the modules of the package that it imports, also those in functions."""
    names = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name
        for name in _TEXTS
    }
    found = {}
    for module, name in names.items():
        asked = {full.removeprefix("sklearn_cvb.") for full in _imports_at_run_time(_nodes(name))}
        known = {full if full in names else full.rpartition(".")[0] for full in asked}
        found[module] = (known & names.keys()) - {module}
    return found


def _imports_at_run_time(nodes):
    """As `_imports`, but for what types alone need."""
    for_types = {
        id(node)
        for branch in nodes
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for part in branch.body
        for node in ast.walk(part)
    }
    return _imports_of(node for node in nodes if id(node) not in for_types)


def test_no_imports_go_in_a_ring():
    try:
        TopologicalSorter(_imported_modules()).prepare()
    except CycleError as error:
        pytest.fail(f"a ring of imports: {' -> '.join(error.args[1])}")
