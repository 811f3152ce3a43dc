"""Examples in docstrings and in the documents are run as they stand."""

import doctest
import importlib
import pathlib
import pkgutil
import shutil

import pytest

import vbslab

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE  # messages of exceptions count
DOCUMENTS = [
    pathlib.Path(__file__).resolve().parents[1] / "README.md",
    pathlib.Path(__file__).resolve().parents[2] / "docs/python.md",
]
MODULES = [module.name for module in pkgutil.iter_modules(vbslab.__path__) if module.name != "_native"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"vbslab.{name}")
    result = doctest.testmod(module, extraglobs={"vbslab": vbslab}, optionflags=FLAGS)
    assert result.failed == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents(path, monkeypatch, tmp_path):
    pytest.importorskip("pandas")
    if not path.exists():
        pytest.skip(f"there is no {path}")
    if shutil.which("gnuplot") is None:
        pytest.skip("gnuplot is not installed")
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert result.failed == 0 and result.attempted > 0


def test_every_public_name_is_documented():
    for name in vbslab.__all__:
        item = getattr(vbslab, name)
        assert item.__doc__, name
        if isinstance(item, type):
            for member, value in vars(item).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert (value.__doc__ or "").strip() or member in ("index", "count"), f"{name}.{member}"
