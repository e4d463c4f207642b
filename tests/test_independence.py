"""The oracle stays an oracle: who may import whom, and how long a module may be.

A model that shares code with what it judges would share its mistakes.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 299

SPEC, IMPL, CONFORMANCE = "uniqfifo_spec", "uniqfifo", "uniqfifo_spec.conformance"
# The fake for application tests raises the errors that the application will see.
MAY_IMPORT_IMPL = {"uniqfifo_spec.memory"}
WHERE_THE_TWO_MEET = {"uniqfifo.cli"}
COMPUTED = "<a computed name>"


def violations(root: Path) -> list[str]:
    """Every breach of the house rules in a tree laid out like this project."""
    modules = [*_modules(root / "spec", SPEC), *_modules(root / "impl", IMPL)]
    return [
        *(breach for path, name in modules for breach in _import_breaches(path, name)),
        *(breach for path, _ in modules for breach in _too_long(path)),
        *(breach for path in sorted((root / "tests").rglob("*.py")) for breach in _too_long(path)),
    ]


def _modules(folder: Path, package: str) -> Iterator[tuple[Path, str]]:
    for path in sorted((folder / package).rglob("*.py")):
        yield path, ".".join(path.relative_to(folder).with_suffix("").parts)


def _import_breaches(path: Path, module: str) -> Iterator[str]:
    for imported in sorted({*_imports(ast.parse(path.read_text("utf-8")), module)}):
        if not _allowed(module, imported):
            yield f"{module} imports {imported}"


def _allowed(module: str, imported: str) -> bool:
    if not _within(module, SPEC):
        harmless = imported != COMPUTED and not _within(imported, SPEC)
        return harmless or module in WHERE_THE_TWO_MEET
    if _within(module, CONFORMANCE):
        return True
    if _within(imported, CONFORMANCE):
        return False  # it would bring redis and hypothesis along
    if _within(imported, IMPL):
        return module in MAY_IMPORT_IMPL
    return _within(imported, SPEC) or imported.partition(".")[0] in sys.stdlib_module_names


def _within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def _imports(tree: ast.Module, module: str) -> Iterator[str]:
    """Absolute names of all that a module imports: late, for typing, and by name included."""
    path = module.split(".")
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                parents = path[:-level] if level else []
                base = ".".join([*parents, *([source] if source else [])])
                yield base
                yield from (f"{base}.{alias.name}" for alias in names)  # it may be a module
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in (
                "__import__",
                "import_module",
            ):
                yield _imported_by_name(node)


def _imported_by_name(call: ast.Call) -> str:
    match call.args:
        case [ast.Constant(value=str(name)), *_] if not name.startswith("."):
            return name
    return COMPUTED


def _too_long(path: Path) -> Iterator[str]:
    lines = len(path.read_text("utf-8").splitlines())
    if lines > LONGEST:
        yield f"{path.name} has {lines} lines"


def test_this_project_keeps_the_rules() -> None:
    assert violations(ROOT) == []


def test_the_core_runs_where_nothing_is_installed() -> None:
    """What `ast` cannot see: a package's `__init__` is imported along with any of its modules."""
    core = [
        name.removesuffix(".__init__")
        for _, name in _modules(ROOT / "spec", SPEC)
        if not _within(name, CONFORMANCE) and name not in MAY_IMPORT_IMPL
    ]
    script = f"""
import sys, importlib
sys.path.insert(0, {str(ROOT / "spec")!r})
sys.modules.update(dict.fromkeys({["redis", "hypothesis", "fakeredis", "click", "rich", IMPL]}))
for name in {core}:
    importlib.import_module(name)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("path", "text", "breach"),
    [
        ("spec/uniqfifo_spec/fifo.py", "import enum, os.path", None),
        ("spec/uniqfifo_spec/designs.py", "from . import fifo", None),
        ("spec/uniqfifo_spec/memory.py", "from uniqfifo.errors import NotStarted", None),
        ("spec/uniqfifo_spec/conformance/a.py", "import redis, hypothesis, uniqfifo", None),
        ("impl/uniqfifo/cli.py", "import uniqfifo_spec.conformance", None),
        ("impl/uniqfifo/_queue.py", "import redis; from . import errors", None),
        ("impl/uniqfifo/__init__.py", "import importlib; importlib.import_module('json')", None),
        ("tests/test_a.py", "\n" * LONGEST, None),
        ("impl/uniqfifo/_queue.py", "import uniqfifo_spec", "uniqfifo_spec"),
        ("impl/uniqfifo/_queue.py", "def f(): import uniqfifo_spec.fifo", "uniqfifo_spec.fifo"),
        ("impl/uniqfifo/a.py", "__import__('uniqfifo_spec')", "uniqfifo_spec"),
        ("impl/uniqfifo/a.py", "importlib.import_module('uniqfifo' + x)", COMPUTED),
        ("impl/uniqfifo/lua/cli.py", "from uniqfifo_spec import fifo", "uniqfifo_spec"),
        ("spec/uniqfifo_spec/fifo.py", "import redis", "redis"),
        ("spec/uniqfifo_spec/fifo.py", "from hypothesis import given", "hypothesis"),
        ("spec/uniqfifo_spec/fifo.py", "from uniqfifo.errors import X", "uniqfifo.errors"),
        ("spec/uniqfifo_spec/memory.py", "import redis", "redis"),
        ("spec/uniqfifo_spec/memory.py", "import_module(name)", COMPUTED),
        ("spec/uniqfifo_spec/__init__.py", "from .conformance import a", CONFORMANCE),
        ("spec/uniqfifo_spec/sub/a.py", "from .. import conformance", CONFORMANCE),
    ],
)
def test_a_breach_of_the_import_rules_is_noticed(
    tmp_path: Path, path: str, text: str, breach: str | None
) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text)
    found = {line.rpartition(" imports ")[2] for line in violations(tmp_path)}
    assert breach in found if breach else not found


@pytest.mark.parametrize("folder", ["spec/uniqfifo_spec", "impl/uniqfifo", "tests/benchmarks"])
def test_a_long_module_is_noticed(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "long.py").write_text("\n" * (LONGEST + 1))
    assert violations(tmp_path) == [f"long.py has {LONGEST + 1} lines"]
