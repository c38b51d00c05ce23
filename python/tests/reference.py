"""The reference page, made of the package's sources and stubs."""

import ast
import inspect
import textwrap

import dovetail
from dovetail import _native, model

from support import ROOT

PACKAGE = ROOT / "python/dovetail"
HEADER = """# Python

Begin with the [tutorial](../tutorial/python.md). This page lists everything, as `help(dovetail.run)` does. Schedulers
take and give times in whole nanoseconds. Documents are those of [the program](json.md). `dovetail.__version__` is the
version.
"""
FUNCTIONS = ["run", "advise", "sweep", "reproduce", "schedulers", "packets"]
RESULTS = ["Result", "Record", "Advice", "Sweep", "Reproduction", "Table"]
SCHEDULING = ["Scheduler", "Flow", "Served", "Dropped", "At", "AwaitProgress", "Empty", "Discipline"]


def definitions(name):
    """The functions and classes of a source or stub, by name."""
    tree = ast.parse((PACKAGE / name).read_text())
    return {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def signature(node):
    """As it is called: without self, on one line if there is room."""
    pieces = node.args
    arguments = [argument for argument in pieces.posonlyargs + pieces.args if argument.arg not in ("self", "cls")]
    defaults = [None] * (len(arguments) - len(pieces.defaults)) + pieces.defaults
    parts = [parameter(argument, default) for argument, default in zip(arguments, defaults)]
    if pieces.vararg:
        parts.append(f"*{ast.unparse(pieces.vararg)}")
    elif pieces.kwonlyargs:
        parts.append("*")
    parts += [parameter(argument, default) for argument, default in zip(pieces.kwonlyargs, pieces.kw_defaults)]
    if pieces.kwarg:
        parts.append(f"**{ast.unparse(pieces.kwarg)}")
    returned = f" -> {ast.unparse(node.returns)}" if node.returns is not None and node.name != "__new__" else ""
    line = f"({', '.join(parts)}){returned}"
    if len(node.name) + len(line) <= 100:
        return line
    return "(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"


def parameter(argument, default):
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default is not None else "")


def described_text(node):
    """The docstring as Markdown, its lists of arguments as lists."""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    lines = []
    for line in text.splitlines():
        if line in ("Args:", "Raises:", "Attributes:"):
            lines += [{"Args:": "Arguments:", "Raises:": "Raises:", "Attributes:": "Attributes:"}[line], ""]
        elif line.startswith("    ") and not line.startswith("     ") and ": " in line:
            name, rest = line.strip().split(": ", 1)
            lines.append(f"* `{name}`: {rest}")
        else:
            lines.append(line)
    joined = "\n".join(lines)
    paragraphs = []
    for paragraph in joined.split("\n\n"):
        items = paragraph.split("\n* ")
        filled = [
            textwrap.fill(
                " ".join(item.split()) if k == 0 else "* " + " ".join(item.split()),
                120,
                subsequent_indent="  " if k or item.startswith("* ") else "",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for k, item in enumerate(items)
        ]
        paragraphs.append("\n".join(filled))
    return "\n\n".join(paragraphs)


def function(node, prefix=""):
    return f"```text\n{prefix}{node.name}{signature(node)}\n```\n\n{described_text(node)}\n"


def kind(name, node):
    """A class with its methods and properties."""
    text = f"### {name}\n\n{described_text(node)}\n"
    for member in node.body:
        if not isinstance(member, ast.FunctionDef):
            continue
        is_property = any(ast.unparse(d) == "property" for d in member.decorator_list)
        if member.name.startswith("_") and member.name != "__new__":
            continue
        if is_property:
            line = f"`{name}.{member.name}` ({ast.unparse(member.returns)}): {described_text(member)}"
            text += "\n" + textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False) + "\n"
        elif member.name == "__new__":
            text += f"\n```text\n{name}{signature(member)}\n```\n\n{described_text(member)}\n"
        else:
            text += "\n" + function(member)
    return text


def page():
    sources, native = definitions("__init__.py"), definitions("_native.pyi")
    everything = {**native, **sources, **definitions("_discipline.py")}
    parts = [HEADER, "## Functions\n"]
    parts += [f"### {name}\n\n{function(sources[name])}" for name in FUNCTIONS]
    parts += ["## Results\n", *(kind(name, everything[name]) for name in RESULTS)]
    parts += ["## Schedulers\n", *(kind(name, everything[name]) for name in SCHEDULING)]
    parts.append(f"## Model\n\n`dovetail.model`: {model.__doc__}\n")
    parts += [
        f"### {name}\n\n{function(node)}"
        for name, node in definitions("model.pyi").items()
        if isinstance(node, ast.FunctionDef)
    ]
    pictures = ast.parse((PACKAGE / "plot.py").read_text())
    parts.append("## Pictures\n\n`dovetail.plot`: " + described_text(pictures) + "\n")
    parts += [
        f"### {name}\n\n{function(node)}"
        for name, node in definitions("plot.py").items()
        if isinstance(node, ast.FunctionDef) and not name.startswith("_")
    ]
    parts.append("## Exceptions\n")
    for name, node in definitions("_errors.py").items():
        bases = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases)
        parts.append(f"### {name}\n\nIs {bases}. {described_text(node)}\n")
    listed = {*FUNCTIONS, *RESULTS, *SCHEDULING, *definitions("_errors.py"), "__version__", "model", "plot"}
    missing = set(dovetail.__all__) - listed
    if missing:
        raise AssertionError(f"not in the reference: {missing}")
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def described():
    """What the stubs describe: owner and name of each."""
    found = []
    for stub, owner in (("_native.pyi", _native), ("model.pyi", model)):
        for name, node in definitions(stub).items():
            if isinstance(node, ast.ClassDef) and owner is model:
                continue
            found.append((owner, name))
            if isinstance(node, ast.ClassDef):
                members = [m.name for m in node.body if isinstance(m, ast.FunctionDef)]
                found += [(getattr(owner, name), member) for member in members]
    found += [(_native, "model")]
    return found


def described_owners():
    return [_native, *(getattr(_native, name) for name in ("Table", "Scheduler", "Served", "Flow", "At", "Runs"))]
