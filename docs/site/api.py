"""The reference, from the docstrings: a page for each package, an entry for each public name, once.

The docstrings are Markdown, which Sphinx's own autodoc does not read. So each becomes the content of a Python directive
in a Markdown page: signatures, index and search are Sphinx's, the words are shown as they stand in the code.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.pycode import ModuleAnalyzer
from sphinx.util.inspect import stringify_signature

import dither
from dither.exact import once

__all__ = ["packages", "write"]

_PROPERTIES = (property, cached_property, once)
_SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", flags=re.MULTILINE | re.DOTALL)
_LISTS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also")
_TEXTS = ("Notes", "References", "Examples")
_SECTION = re.compile(rf"^({'|'.join([*_LISTS, *_TEXTS])})\n-{{3,}}\n", flags=re.MULTILINE)


def packages() -> list[str]:
    """The packages whose names are public, without the command line; packages within them follow."""
    found = [info.name for info in pkgutil.iter_modules(dither.__path__) if not info.name.startswith("_")]
    names = [f"dither.{name}" for name in sorted(set(found) - {"cli"})]
    listed = [each for name in names for each in (name, *_inner(importlib.import_module(name)))]
    return [*listed, *_unlisted(listed)]


def _unlisted(listed: list[str]) -> list[str]:
    """The modules of public names that no package lists, because it loads them only when they are used."""
    modules = map(importlib.import_module, listed)
    shown = {id(getattr(module, name)) for module in modules for name in getattr(module, "__all__", [])}
    values = (getattr(dither, name) for name in dither.__all__)
    missing = [value for value in values if not inspect.ismodule(value) and id(value) not in shown]
    return sorted({value.__module__ for value in missing})


def _inner(package: ModuleType) -> list[str]:
    values = (getattr(package, name) for name in getattr(package, "__all__", []))
    return [value.__name__ for value in values if inspect.ismodule(value)]


def write(folder: Path) -> None:
    """Write all pages of the reference."""
    folder.mkdir(parents=True, exist_ok=True)
    said: set[int] = set()
    for package in packages():
        (folder / f"{package}.md").write_text("\n".join(_page(package, said)), encoding="utf-8")
    (folder / "index.md").write_text("\n".join(_index()), encoding="utf-8")


def _index() -> Iterator[str]:
    yield "# Reference\n\nWritten from the docstrings: what `import dither as dp` gives.\n"
    public = {name: getattr(dither, name) for name in sorted(dither.__all__, key=str.lower)}
    for title, kind in (("Classes", "class"), ("Functions", "func"), ("Modules", "mod")):
        yield f"\n## {title}\n"
        for name, value in public.items():
            if _kind(value) == kind:
                target = value.__name__ if kind == "mod" else f"dither.{name}"
                yield f"- {{py:{kind}}}`dp.{name} <{target}>`: {_first_sentence(value)}"
    yield "\n## Every public name, package by package\n\n```{toctree}\n" + "\n".join(packages()) + "\n```\n"


def _kind(value: Any) -> str:
    return "mod" if inspect.ismodule(value) else "class" if inspect.isclass(value) else "func"


def _first_sentence(value: Any) -> str:
    """The first sentence, which may lead to a block below it."""
    paragraph = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return re.sub(r"[:,]$", ".", re.split(r"(?<=\.)\s", " ".join(paragraph.split()))[0])


def _page(module_name: str, said: set[int]) -> Iterator[str]:
    module = importlib.import_module(module_name)
    yield f"# {module_name}\n"
    yield f":::{{py:module}} {module_name}\n:::\n\n:::{{py:currentmodule}} None\n:::\n"
    yield _markdown(inspect.getdoc(module) or "") + "\n"
    for name in getattr(module, "__all__", []):
        value = getattr(module, name)
        if not inspect.ismodule(value) and id(value) not in said:
            said.add(id(value))
            yield from _entry(name, value, module)


def _entry(name: str, value: Any, module: ModuleType) -> Iterator[str]:
    """A public name: a class with its members, a function, or a constant."""
    is_on_top = name in dither.__all__ and getattr(dither, name) is value
    full = f"dither.{name}" if is_on_top else f"{module.__name__}.{name}"
    text = _markdown(inspect.getdoc(value) or "")
    if inspect.isclass(value):
        yield f"::::{{py:class}} {full}{_signature(value, has_result=False)}\n\n{text}\n"
        for field, words in _fields(value).items():
            yield f":::{{py:attribute}} {field}\n\n{words}\n:::\n"
        for member in _members(value):
            yield f":::{{py:{member.kind}}} {member.signature}\n\n{member.text}\n:::\n"
        yield "::::\n"
    elif inspect.isroutine(value):
        yield f"::::{{py:function}} {full}{_signature(value)}\n\n{text}\n::::\n"
    else:
        yield f"::::{{py:data}} {full}\n\n{_constant(name, module)}\n::::\n"


def _fields(owner: type) -> dict[str, str]:
    """The attributes of a class that have words below them, those of its bases first."""
    return {
        field: _markdown("\n".join(words))
        for home in reversed(owner.__mro__)
        if home.__module__.startswith("dither")
        for (of, field), words in ModuleAnalyzer.for_module(home.__module__).find_attr_docs().items()
        if of == home.__qualname__ and not field.startswith("_") and not callable(vars(home).get(field))
    }


def _constant(name: str, module: ModuleType) -> str:
    """The words below a constant, wherever it is defined in its package; else its value."""
    paths = getattr(module, "__path__", [])
    for home in [module.__name__, *(f"{module.__name__}.{info.name}" for info in pkgutil.iter_modules(paths))]:
        words = ModuleAnalyzer.for_module(home).find_attr_docs().get(("", name))
        if words:
            return _markdown("\n".join(words))
    text = " ".join(repr(getattr(module, name)).split())
    return f"`{text if len(text) < 100 else text[:97] + '...'}`"


@dataclass(frozen=True)
class _Member:
    """A public method or property, of a class or of one that it inherits from."""

    name: str
    value: Any

    @property
    def kind(self) -> str:
        if isinstance(self.value, _PROPERTIES):
            return "property"
        return {classmethod: "classmethod", staticmethod: "staticmethod"}.get(type(self.value), "method")

    @property
    def signature(self) -> str:
        if self.kind == "property":
            return self.name
        function = self.value.__func__ if self.kind in ("classmethod", "staticmethod") else self.value
        return self.name + _signature(function, is_bound=self.kind != "staticmethod")

    @property
    def text(self) -> str:
        return _markdown(inspect.getdoc(self.value) or "")


def _members(owner: type) -> Iterator[_Member]:
    """Own members first, then inherited ones, each as the class has it; what other libraries define is left out."""
    seen: set[str] = set()
    for home in owner.__mro__:
        for name, value in vars(home).items() if home.__module__.startswith("dither") else ():
            is_member = inspect.isfunction(value) or isinstance(value, (*_PROPERTIES, classmethod, staticmethod))
            if is_member and not name.startswith("_") and name not in seen:
                seen.add(name)
                yield _Member(name, value)


def _signature(value: Any, is_bound: bool = False, has_result: bool = True) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # an alias, or a class of another language
        return ""
    parameters = list(signature.parameters.values())[1 if is_bound else 0 :]
    return stringify_signature(
        signature.replace(parameters=parameters), show_return_annotation=has_result, unqualified_typehints=True
    )


def _markdown(text: str) -> str:
    """A docstring as Markdown: its sections get a bold title, their entries become lists, examples blocks of code."""
    summary, *rest = _SECTION.split(text)
    sections = zip(rest[::2], rest[1::2], strict=True)
    parts = [summary, *(f"**{title}**\n\n{_listed(body) if title in _LISTS else body}" for title, body in sections)]
    return _SESSION.sub(lambda found: f"```python\n{found[0].rstrip()}\n```", "\n\n".join(parts))


def _listed(body: str) -> str:
    """Entries of a section, `name : type` with an indented description, as a list."""
    lines = []
    for line in body.strip().splitlines():
        if line.startswith(" ") or not line:
            lines.append(line.removeprefix("  "))
        else:
            name, _, kind = line.partition(" : ")
            lines.append(f"- `{name}`" + (f" ({kind})" if kind else "") + "  ")
    return "\n".join(lines)
