"""The wheel holds exactly what it should; an editable install is two plain paths."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KINDS = {".py", ".lua", ".json", ".typed"}
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def shipped(root: Path) -> set[str]:
    """Every file that belongs into the wheel of this tree, by its name there."""
    return {
        path.relative_to(root / package).as_posix()
        for package in ("spec", "impl")
        for path in (root / package).glob("uniqfifo*/**/*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def contents_wrong(wheel: Path, root: Path) -> list[str]:
    """What is missing from the wheel, and what has no place in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    metadata = f"uniqfifo-{wheel.name.split('-')[1]}.dist-info/"
    expected = shipped(root) | {metadata + name for name in METADATA}
    return [
        *(f"missing: {name}" for name in sorted(expected - {*names})),
        *(f"unexpected: {name}" for name in sorted({*names} - expected)),
        *(f"twice: {name}" for name in sorted({*names}) if names.count(name) > 1),
        *(
            f"of an unknown kind: {name}"
            for name in sorted(names)
            if not name.startswith(metadata) and Path(name).suffix not in KINDS
        ),
        *(
            f"no type marker: {name}"
            for name in ("uniqfifo/py.typed", "uniqfifo_spec/py.typed")
            if name not in names
        ),
    ]


def build(kind: str, root: Path, into: Path) -> Path:
    """Build with hatchling itself: no network, no isolated environment."""
    script = f"from hatchling.build import *; import sys; print(build_{kind}(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(into)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return into / done.stdout.split()[-1]


def test_wheel_holds_exactly_the_two_packages(tmp_path: Path) -> None:
    assert contents_wrong(build("wheel", ROOT, tmp_path), ROOT) == []


def test_wheel_built_from_the_sdist_is_the_same(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", ROOT, tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert contents_wrong(build("wheel", unpacked, tmp_path), ROOT) == []
    assert (unpacked / "spec/SPEC.md").exists()
    assert (unpacked / "tests/conftest.py").exists()


def test_editable_install_is_two_plain_paths(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("editable", ROOT, tmp_path)) as archive:
        (paths,) = (name for name in archive.namelist() if name.endswith(".pth"))
        lines = archive.read(paths).decode().splitlines()
        assert not [name for name in archive.namelist() if name.endswith(".py")]
    assert {*lines} == {str(ROOT / "spec"), str(ROOT / "impl")}


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """A small tree, and a wheel as it should be."""
    for name in (
        "spec/uniqfifo_spec/fifo.py",
        "spec/uniqfifo_spec/py.typed",
        "impl/uniqfifo/lua/enqueue.lua",
        "impl/uniqfifo/py.typed",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("left_out", "added", "complaint"),
    [
        ("", "", None),
        ("uniqfifo/lua/enqueue.lua", "", "missing: uniqfifo/lua/enqueue.lua"),
        ("uniqfifo/py.typed", "", "no type marker: uniqfifo/py.typed"),
        ("", "SPEC.md", "unexpected: SPEC.md"),
        ("", "tests/conftest.py", "unexpected: tests/conftest.py"),
        ("", "uniqfifo/notes.txt", "of an unknown kind: uniqfifo/notes.txt"),
    ],
)
def test_a_wrong_wheel_is_noticed(
    made_up: Path, left_out: str, added: str, complaint: str | None
) -> None:
    names = {*shipped(made_up), *(f"uniqfifo-1.dist-info/{name}" for name in METADATA)}
    wheel = made_up / "uniqfifo-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (names - {left_out}) | ({added} - {""}):
            archive.writestr(name, "")
    problems = contents_wrong(wheel, made_up)
    assert complaint in problems if complaint else problems == []
