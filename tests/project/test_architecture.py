"""The layers of docs/ARCHITECTURE.md: who may import whom, and who alone may touch DuckDB and the catalog's tables."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import sqlanon

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")


def allowed() -> dict[str, set[str]]:
    """The table of the page: package → the packages that it may import."""
    rows = re.findall(r"^\| (`[^|]*) \|[^|]*\|([^|]*)\|$", PAGE.split("| package |")[1].split("Exceptions")[0], re.M)
    return {
        package: set(re.findall(r"`(\w+)`", may)) for names, may in rows for package in re.findall(r"`(\w+)`", names)
    }


def exceptions() -> set[tuple[str, str]]:
    """Module → package, for those that are listed with a reason."""
    return set(re.findall(r"^- `([\w.]+)` → `(\w+)`: ", PAGE, re.M))


def modules() -> Iterator[tuple[str, Path]]:
    """Every module by its name without `sqlanon.`."""
    for folder, prefix in (("sqlanon", ()), ("udfs", ("udfs",))):
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = (*prefix, *file.relative_to(ROOT / folder).with_suffix("").parts)
            if (folder, parts[0]) not in {("sqlanon", "udfs"), ("sqlanon", "__init__"), ("sqlanon", "__main__")}:
                yield ".".join(part for part in parts if part != "__init__"), file


def imported(file: Path) -> Iterator[str]:
    """What a file imports when it runs, in full; what only type checkers read does not count."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    checked = {id(node) for block in ast.walk(tree) if _is_typing(block) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in checked:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and id(node) not in checked:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def test_every_package_imports_only_what_the_table_allows() -> None:
    may, excepted, used = allowed(), exceptions(), set()
    assert len(excepted) <= 3
    for module, file in modules():
        package = module.split(".")[0]
        for name in imported(file):
            if not name.startswith("sqlanon."):
                continue
            other = name.split(".")[1]
            if other in sqlanon.__all__ or other in {package, *may[package]}:
                continue
            assert (module, other) in excepted, f"{module} imports {name}"
            used.add((module, other))
    assert used == excepted, "an exception that nobody needs"


def test_the_table_lists_every_package_in_layers() -> None:
    may = allowed()
    assert set(may) == {module.split(".")[0] for module, _ in modules()}
    seen: set[str] = set()
    for package, below in may.items():
        assert below <= seen, f"{package} stands before what it imports"
        seen.add(package)


def test_no_package_bears_the_name_of_a_public_function() -> None:
    assert not set(allowed()) & set(sqlanon.__all__)


def test_packages_say_what_they_are_about() -> None:
    for file in [*(ROOT / "sqlanon").glob("*/__init__.py"), *(ROOT / "udfs").glob("*/__init__.py")]:
        assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), file


def test_only_the_engine_imports_duckdb() -> None:
    importers = {module for module, file in modules() if any(name.split(".")[0] == "duckdb" for name in imported(file))}
    assert {module for module in importers if not module.startswith("engine.")} <= {"samples", "cli.commands.shell"}


def test_only_the_catalog_names_the_tables_of_its_schema() -> None:
    tables = re.findall(
        r"create table if not exists anon\.(\w+)", (ROOT / "sql" / "catalog" / "tables.sql").read_text()
    )
    named = re.compile(rf"""(schema|(?<!sql)anon)\}}?\.({"|".join(tables)})\b""")
    for module, file in modules():
        text = re.sub(r'""".*?"""', "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        if not module.startswith(("catalog.", "pipeline.macros", "cli.")):
            assert not named.search(text), module


def test_the_policy_needs_neither_duckdb_nor_arrow() -> None:
    code = "import sys, sqlanon.policy.policy; print([m for m in ('duckdb', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_type_checkers_and_python_see_the_same_names() -> None:
    source = ast.parse((ROOT / "sqlanon" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in source.body if _is_typing(node))
    declared = {
        (node.module, alias.name) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert declared == {(f"sqlanon.{module}", name) for name, module in sqlanon._MODULES.items()}
    for module, name in declared:
        assert getattr(import_module(module or ""), name) is getattr(sqlanon, name)


def test_no_function_is_longer_than_60_lines_and_no_file_than_450() -> None:
    for file in [*(ROOT / "sqlanon").rglob("*.py"), *(ROOT / "udfs").rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 450, file
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, f"{file}: {node.name}"
