#!/usr/bin/env python3
"""Preprocessor of the book: fills the chapters about the Python API from the docstrings of the package.

mdbook runs it, as docs/book.toml says. The chapters have no files; SUMMARY.md lists them without a link. Fails if a
public name has no docstring. Reads only the sources; nothing has to be built or installed.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent / "python" / "ale_train"
WIDTH = 118

#: File below docs/src/python/api, title, introduction, and the names on the page as MODULE:NAME. In SUMMARY.md, the
#: name of the chapter is "API: " with the title.
PAGES = [
    (
        "learners.md",
        "learners",
        "`import ale_train` provides these names, except `Algorithm`, which the four algorithms derive from, "
        "`Outputs` and `PlayerState`.",
        [
            "learners:Algorithm",
            "learners:PPO",
            "learners:DQN",
            "learners:PQN",
            "learners:SAC",
            "learner:Learner",
            "agents:load_agent",
            "agents:Agent",
            "agents:Outputs",
            "agents:Scores",
            "agents:PlayerState",
        ],
    ),
    (
        "vector-environments.md",
        "vector environments",
        "`import ale_train` provides these names, except `ALEVectorInterface`, which is the attribute `ale` of "
        "`AtariVectorEnv`.",
        [
            "by_id:make_vec",
            "names:tasks",
            "vector_env:AtariVectorEnv",
            "players_vector_env:AtariPlayersVectorEnv",
            "task_vector_env:TaskVectorEnv",
            "ale_vector:ALEVectorInterface",
        ],
    ),
    (
        "single-environments.md",
        "single environments and the emulator",
        "`import ale_train` provides these names, except `TaskEnv`, which `gymnasium.make` creates.",
        [
            "env:AtariEnv",
            "task_env:TaskEnv",
            "_native:ALEInterface",
            "_native:ALEState",
            "actions:Action",
            "logger_mode:LoggerMode",
        ],
    ),
    (
        "envpool.md",
        "the interface of EnvPool",
        "`import ale_train.envpool as envpool` provides these names; `ale_train.make` is `envpool.make`.",
        [
            "envpool:make",
            "envpool:make_gymnasium",
            "envpool:make_dm",
            "envpool:make_spec",
            "envpool:list_all_envs",
            "envpool:Config",
            "task_config:TaskConfig",
            "envpool:EnvPool",
            "envpool:GymnasiumEnvPool",
            "envpool:DmEnvPool",
            "envpool:Spec",
        ],
    ),
    (
        "frameworks.md",
        "adapters for frameworks",
        "Each is imported from its own module: `ale_train.stable_baselines3`, `ale_train.torchrl` and "
        "`ale_train.pettingzoo`, which require the framework, and `ale_train.cleanrl`.",
        [
            "stable_baselines3:AtariVecEnv",
            "torchrl:AtariTorchEnv",
            "cleanrl:CleanRLVectorEnv",
            "pettingzoo:AtariModule",
            "pettingzoo:ParallelAtariEnv",
        ],
    ),
    (
        "registration.md",
        "registration, ROMs and errors",
        "`import ale_train` provides the functions; `ale_train.roms`, `ale_train.errors` and `ale_train.command` are "
        "modules.",
        [
            "registration:register_envs",
            "registration:register_tasks",
            "as_ale_py:install_as_ale_py",
            "_native:games",
            "roms:get_all_rom_ids",
            "roms:get_rom_path",
            "other_names:VectorAtariEnv",
            "other_names:make_atari_vector_env",
            "command:information",
            "errors:GameError",
            "errors:ActionError",
        ],
    ),
]

#: Sections of docstrings that are lists.
TITLES = {"Args:": "Arguments", "Attributes:": "Fields", "Raises:": "Errors"}

#: Private names of types in the stub, and what they stand for.
TYPES = {"_Bytes": "np.ndarray"}

Definition = ast.FunctionDef | ast.ClassDef


def main() -> int:
    if sys.argv[1:2] == ["supports"]:
        return 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    _, book = json.load(sys.stdin)
    fill(book)
    json.dump(book, sys.stdout)
    return 0


def fill(book: dict[str, Any]) -> None:
    """Gives the chapters of the API a path and their text."""
    chapters = {item["Chapter"]["name"]: item["Chapter"] for item in book["items"] if "Chapter" in item}
    for file, title, text in pages():
        chapter = chapters.get(f"API: {title}")
        if chapter is None:
            raise SystemExit(f"docs/src/SUMMARY.md has no chapter `API: {title}`")
        chapter.update(path=f"python/api/{file}", content=text)


def pages() -> Iterator[tuple[str, str, str]]:
    """Yields the file, the title and the text of each page."""
    for file, title, introduction, members in PAGES:
        blocks = [f"# {title[0].upper()}{title[1:]}", wrapped(introduction)]
        for member in members:
            blocks += described(*member.split(":"))
        yield file, title, "\n\n".join(blocks) + "\n"


def described(module: str, name: str) -> list[str]:
    """Returns the section of a function or class."""
    node = next(definition for definition in definitions(module) if definition.name == name)
    blocks = [f"## `{name}`"]
    if isinstance(node, ast.FunctionDef):
        return [*blocks, code(signature(node)), *documentation(node, f"{module}.{name}")]
    init = method(node, "__init__")
    fields = [field for field in node.body if isinstance(field, ast.AnnAssign) and field.value is not None]
    if init:
        blocks.append(code(signature(init, name)))
    elif any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        blocks.append(code(f"class {name}:\n" + textwrap.indent("\n".join(map(ast.unparse, fields)), "    ")))
    blocks += documentation(node, f"{module}.{name}")
    if init and ast.get_docstring(init):
        blocks += documentation(init, f"{module}.{name}")
    for first, *overloads in methods(node):
        blocks.append(f"### `{name}.{first.name}`")
        is_property = any(ast.unparse(decorator) == "property" for decorator in first.decorator_list)
        if is_property and first.returns:
            blocks.append(code(f"{first.name}: {ast.unparse(first.returns)}"))
        else:
            blocks.append(code("\n".join(map(signature, [first, *overloads]))))
        blocks += documentation(first, f"{module}.{name}.{first.name}")
    return blocks


def definitions(module: str) -> list[Definition]:
    """Returns the functions and classes of a module; the stub describes the compiled one."""
    path = PACKAGE / f"{module}.{'pyi' if module == '_native' else 'py'}"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [item for item in tree.body if isinstance(item, (ast.FunctionDef, ast.ClassDef))]


def method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    functions = (item for item in node.body if isinstance(item, ast.FunctionDef))
    return next((function for function in functions if function.name == name), None)


def methods(node: ast.ClassDef) -> list[list[ast.FunctionDef]]:
    """Returns the public methods and properties, each with its overloads, of which the first has the docstring."""
    named: dict[str, list[ast.FunctionDef]] = {}
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            named.setdefault(item.name, []).append(item)
    return list(named.values())


def signature(node: ast.FunctionDef, name: str | None = None) -> str:
    """Returns the signature without `self`, on one line if it fits."""
    copied = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(copied, ast.FunctionDef)
    for part in ast.walk(copied):
        if isinstance(part, ast.Name):
            part.id = TYPES.get(part.id, part.id)
    arguments = copied.args
    for positional in (arguments.posonlyargs, arguments.args):
        if positional and positional[0].arg in ("self", "cls"):
            del positional[0]
    returned = f" -> {ast.unparse(copied.returns)}" if copied.returns and name is None else ""
    whole = f"{name or node.name}({ast.unparse(arguments)}){returned}"
    if len(whole) <= 100:
        return whole
    parts = split(ast.unparse(arguments))
    return f"{name or node.name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"


def split(arguments: str) -> list[str]:
    """Splits a list of arguments, whose types may contain commas."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def code(text: str) -> str:
    # Not marked as Python, because Python blocks of documents are run as tests.
    return f"```text\n{text}\n```"


def documentation(node: ast.AST, name: str) -> list[str]:
    """Returns a docstring as Markdown."""
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
    text = ast.get_docstring(node)
    if not text:
        raise SystemExit(f"{name} has no docstring")
    blocks = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        head, *rest = block.split("\n")
        if head in TITLES:
            title = TITLES[head]
            blocks.append(f"**{title}**\n\n" + "\n".join(items(textwrap.dedent("\n".join(rest)))))
        elif head == "Returns:":
            blocks.append(wrapped("**Returns:** " + " ".join(map(str.strip, rest))))
        else:
            blocks.append(wrapped(" ".join(block.split("\n"))))
    return [block.replace("``", "`") for block in blocks]


def items(text: str) -> Iterator[str]:
    """Yields the items of a list in a docstring."""
    for item in re.split(r"\n(?=\S)", text):
        name, _, meaning = " ".join(line.strip() for line in item.split("\n")).partition(": ")
        yield wrapped(f"* `{name}`: {meaning}", "  ")


def wrapped(text: str, indent: str = "") -> str:
    text = re.sub(r":\w+:`(\w+)`", r"``\1``", " ".join(text.split()))
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.exit(main())
