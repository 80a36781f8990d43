"""Looks in the code for what `tables.yaml` has to name: conditions, events, annotations and labels."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from function.cluster.teardown.request import Stage
from llm_operator.teardown.model import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).parents[3]
_PACKAGES = {"function": ROOT, "llm_operator": ROOT / "operator", "release_api": ROOT / "operator"}
_PACKAGES |= {"modelctl": ROOT / "operator"}
_OURS = re.compile(
    r"(?:(?:inference|policies)\.)?modelplane\.ai/(?!v\d)[a-z][a-z-]+"
    r"|(?:serving|swiss)\.modelsphere\.dev/(?!v\d)[a-z][a-z-]+"
)
_REASON = re.compile(r"[A-Z][A-Za-z]+")
_EXPRESSIONS = ("policies/bundle.yaml",)


@cache
def modules(package: str) -> tuple[tuple[ModuleType, ast.Module], ...]:
    """Return the modules of a package with their syntax, but for those that run when imported."""
    root = _PACKAGES[package]
    files = sorted(p for p in (root / package).rglob("*.py") if p.name != "__main__.py")
    dotted = (".".join(file.relative_to(root).with_suffix("").parts) for file in files)
    names = (name.removesuffix(".__init__") for name in dotted)
    read = (ast.parse(file.read_text("utf-8")) for file in files)
    return tuple((importlib.import_module(name), tree) for name, tree in zip(names, read, strict=True))


def names() -> set[str]:
    """Return the annotations, labels and finalizers of ours that code and policies spell."""
    found = {name for path in _EXPRESSIONS for name in _OURS.findall((ROOT / path).read_text())}
    for package in _PACKAGES:
        for module, tree in modules(package):
            found |= {text for text in _texts(module, tree) if _OURS.fullmatch(text)}
    return found


def _texts(module: ModuleType, tree: ast.Module) -> Iterator[str]:
    """Yield the constants of a module, and the f-strings that are made of its constants alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(_part(module, part) for part in node.values)


def _part(module: ModuleType, part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
        return str(getattr(module, part.value.id, "\0"))
    return "\0"


def conditions() -> set[str]:
    """Return the types and reasons of the function's conditions: the words of what builds a Condition."""
    found = {stage.value for stage in Stage}
    for module, tree in modules("function"):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _calls(node, "Condition"):
                found |= {word for word in _words(module, node) if _REASON.fullmatch(word)}
    return found


def ready_reasons() -> set[str]:
    """Return the reasons of an LLMService's Ready condition."""
    courses = (call for _, tree in modules("llm_operator") for call in _calls(tree, "Course"))
    given = {_text(call.args[2]) for call in courses if len(call.args) > 2}
    built = (call for _, tree in modules("llm_operator") for call in _calls(tree, "condition"))
    return given | {_text(call.args[2]) for call in built if _text(call.args[0]) == "Ready"} - {""}


def event_reasons() -> set[str]:
    """Return the reasons of the controller's events."""
    found = {str(reason) for reason in Reason}
    for _, tree in modules("llm_operator"):
        found |= {_text(call.args[0]) for call in _calls(tree, "Event") if call.args}
        found |= {
            _text(word.value)
            for word in ast.walk(tree)
            if isinstance(word, ast.keyword) and word.arg == "note"
        }
    return found - {""}


def _calls(tree: ast.AST, name: str) -> list[ast.Call]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _words(module: ModuleType, tree: ast.AST) -> Iterator[str]:
    """Yield the texts of a function, and those of the constants that it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name) and isinstance(value := getattr(module, node.id, None), str):
            yield value
