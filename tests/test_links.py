"""Links, paths, commands and roles in prose: what they name is there."""

import ast
import importlib.util
import posixpath
import re
import shlex
import textwrap
from functools import cache
from types import SimpleNamespace

import pytest
from documents import (
    CODE,
    DOCS,
    FENCED,
    FRONT,
    ROOT,
    SCRIPTS,
    SECTIONS,
    SOURCES,
    called,
    made_pages,
    methods,
    none_of,
    public,
    text_of,
)

import eigenlens
from eigenlens.cli import app
from eigenlens.cli._run import run

LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|<(?:a|img)\b[^>]*?(?:href|src)=\"([^\"]+)\""
)
ELSEWHERE = re.compile(r"[a-z]+:")  # https:, mailto:
TREE = re.compile(r"^(?:benchmarks|docs|examples|src|tests|tools)/[\w./-]+\.\w+$")
OPTION = re.compile(r"^:\w+:")


def links(text):
    """Return the targets of links and pictures of a page, but for other sites."""
    plain = CODE.sub("code", FENCED.sub("", text))
    found = [one or other for one, other in LINK.findall(plain)]
    return [target for target in found if not ELSEWHERE.match(target)]


def anchors(text):
    """Return the names of headings, as GitHub makes them and MyST for the first three levels."""
    found = []
    for title in re.findall(r"^#{1,3} +(.+?) *#*$", FENCED.sub("", text), re.MULTILINE):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        times = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one) is not None for one in found)
        found.append(f"{slug}-{times}" if times else slug)
    return found


def source_of(target, folder):
    """Return the file that a link from a page in `folder` leads to; None if there is none.

    Pages of the gallery are made from scripts, and those of the reference by `made`: they are
    looked for where they come from, for they need not have been built.
    """
    inside, _, rest = posixpath.normpath(target).partition("_generated/")
    if folder == ROOT / "docs" and rest and not inside:
        if rest.startswith("gallery/"):
            page = rest.removeprefix("gallery/").removesuffix(".rst").removesuffix(".md")
            script = f"{page}.py"
            if page.rpartition("/")[2] == "index":
                script = f"{page.removesuffix('index')}README.rst"
            path = ROOT / "examples" / script
            return path if path.is_file() else None
        names = rest, f"{rest}.rst", f"{rest}.md"
        return next((ROOT / "docs/made.py" for name in names if name in made_pages()), None)
    path = folder / target
    return path if path.exists() else None


def broken(page, folder):
    """Return what is wrong with the links of a page that is read in `folder`."""
    for target in links(text_of(page)):
        place, _, anchor = target.partition("#")
        path = source_of(place, folder) if place else page
        if path is None:
            yield f"{called(page)}: {target} is not there"
        elif anchor and path.suffix == ".md" and anchor not in anchors(text_of(path)):
            yield f"{called(page)}: {target} has no such heading; it has {anchors(text_of(path))}"
        elif anchor and path.suffix != ".md":
            yield f"{called(page)}: {target} points into a page that is no Markdown"


@pytest.mark.parametrize("page", [*FRONT, *DOCS], ids=lambda page: page.name)
def test_links_of_page_lead_somewhere(page):
    none_of(broken(page, page.parent))
    if page.name == "CHANGELOG.md":  # a page of the documentation too
        none_of(broken(page, ROOT / "docs"))


def test_links_are_seen_and_tried(tmp_path):
    """The checks of links can fail."""
    text = textwrap.dedent(
        """
        # One & *two* `n_init`
        [a](there.md "title") ![b](not.png) [`c`](there.md#one--two-n_init) [d](there.md#no)
        <a href="gone.md"><img src="there.md"></a> [e](https://example.org) `[f](x)`
        ```
        [g](y)
        ```
        ## Twice
        ## Twice
        [h](#twice-1)
        """
    )
    (tmp_path / "there.md").write_text(text)
    assert anchors(text) == ["one--two-n_init", "twice", "twice-1"]
    page = SimpleNamespace(
        read_text=lambda encoding: text, relative_to=lambda root: "page", suffix=".md"
    )
    found = {line.split()[1] for line in broken(page, tmp_path)}
    assert found == {"not.png", "gone.md", "there.md#no"}


def test_every_picture_is_used():
    pages = {page: text_of(page) for page in [*FRONT, *DOCS]}
    shown = {(page.parent / to).resolve() for page, text in pages.items() for to in links(text)}
    there = {path for path in (ROOT / "docs/images").rglob("*.*") if path.is_file()}
    none_of(f"{called(path)} is on no page" for path in there - shown)


def test_every_page_is_in_a_table_of_contents():
    entries, faults = {"index"}, []
    for page in DOCS:
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text_of(page), re.M | re.DOTALL):
            for line in block.split("\n"):
                entry = re.sub(r".*<(.*)>$", r"\1", line.strip())
                if not entry or OPTION.match(entry):
                    continue
                entries.add(entry)
                at = entry if entry.startswith("_generated/") else f"{entry}.md"
                if not source_of(at, ROOT / "docs"):
                    faults.append(f"{called(page)}: {entry} is not there")
    faults += [f"{called(page)} is in no toctree" for page in DOCS if page.stem not in entries]
    none_of(faults)


def test_files_named_in_prose_are_there():
    """A path as code, such as `tools/pictures.py`, is a link for those who read a checkout."""
    faults = []
    for page in [*FRONT, *DOCS, *SCRIPTS, *SECTIONS]:
        for _, name in CODE.findall(FENCED.sub("", text_of(page))):
            if TREE.match(name) and "foo" not in name and not (ROOT / name).exists():
                faults.append(f"{called(page)}: {name} is not there")
    none_of(faults)


def commands(text):
    """Return the commands for a shell that a page shows."""
    blocks = [match[0].split("\n", 1) for match in FENCED.finditer(text)]
    shown = [rest for head, rest in blocks if head.strip(" `") in ("", "console", "sh")]
    lines = "\n".join(rest.rpartition("\n")[0] for rest in shown).replace("\\\n", " ").splitlines()
    plain = [re.sub(r"(?:^|\s)#.*", "", line.strip().removeprefix("$ ")) for line in lines]
    return [one.strip() for line in plain for one in re.split(r"&&|\|", line)]


@pytest.mark.parametrize("page", [*FRONT, *DOCS], ids=lambda page: page.name)
def test_commands_of_page_are_there(page, capsys):
    """They are parsed, with their options, and then asked for help in place of work."""
    targets = re.findall(r"^(\w+):", text_of(ROOT / "Makefile"), re.MULTILINE)
    faults = []
    for line in commands(text_of(page)):
        first, *words = shlex.split(line) if line.startswith(("eigenlens ", "make ")) else [""]
        if first == "make" and words[0] not in targets:
            faults.append(f"{called(page)}: {line}: no such target")
        elif first == "eigenlens" and run(app, [*words, "--help"]):
            faults.append(f"{called(page)}: {line}: {capsys.readouterr().err.strip()}")
    none_of(faults)


def test_commands_are_seen():
    text = "```\n$ a --b \\\n  c  # d\nx && y | z\n```\n\n```python\ne\n```\n\n```console\nf\n```\n"
    assert commands(text) == ["a --b    c", "x", "y", "z", "f"]
    assert run(app, ["fit", "pca", "--nobody", "1", "--help"]) == 2
    assert run(app, ["separate", "--low-rank", "x", "--help"]) == 0


ROLE = re.compile(
    r":(?:py:)?(func|class|meth|mod|attr|data|obj|doc|ref):`(?:[^`<]*<)?~?([^`>]+?)>?`"
)


@pytest.mark.parametrize("path", [*SCRIPTS, *SECTIONS], ids=lambda path: "/".join(path.parts[-2:]))
def test_roles_of_example_resolve(path):
    folder = posixpath.join("_generated/gallery", *path.parent.relative_to(ROOT / "examples").parts)
    faults = []
    for role, target in ROLE.findall(text_of(path)):
        if role == "doc":
            at = target.lstrip("/") if target[0] == "/" else posixpath.join(folder, target)
            at = posixpath.normpath(at)
            there = source_of(at if at.startswith("_generated/") else f"{at}.md", ROOT / "docs")
        elif role == "ref":
            there = target in labels()
        else:
            ours = target.startswith("eigenlens")
            there = in_reference(target) if ours else imported(target)
        if not there:
            faults.append(f"{called(path)}: {role} {target} is not there")
    none_of(faults)


@cache
def labels():
    """Return the labels that Sphinx-Gallery gives to the pages it makes."""
    pages = [path.relative_to(ROOT / "examples").parts for path in SCRIPTS]
    heads = [path.parent.relative_to(ROOT / "examples").parts for path in SECTIONS]
    return {
        *("_".join(["sphx_glr__generated_gallery", *parts]) for parts in pages),
        *("_".join(["sphx_glr__generated_gallery", *parts]) for parts in heads),
    }


def in_reference(name):
    """Whether a name has a place in the reference, and is there."""
    first = name.removeprefix("eigenlens.").split(".")[0]
    return name.startswith("eigenlens.") and first in eigenlens.__all__ and imported(name)


def imported(name, owner=None):
    """Return whether a dotted name can be had, as Python finds it from the module `owner`."""
    if name.startswith("."):
        package = owner if is_package(owner) else owner.rpartition(".")[0]
        name = importlib.util.resolve_name(name, package)
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:i]))
        except ImportError:
            continue
        for part in parts[i:]:
            value = getattr(value, part, None)
        return value is not None
    return False


def is_package(name):
    return hasattr(importlib.import_module(name), "__path__")


def module_of(path):
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_roles_of_docstrings_resolve():
    faults = []
    for path in SOURCES:
        text, owner = text_of(path), module_of(path)
        if not ROLE.search(text):
            continue
        classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
        for match in ROLE.finditer(text):
            name, line = match[2], text.count("\n", 0, match.start()) + 1
            around = [node.name for node in classes if node.lineno <= line <= node.end_lineno]
            scopes = [f"{owner}.{one}" for one in around] + [owner, "eigenlens"]
            if not (imported(name, owner) or any(imported(f"{s}.{name}") for s in scopes)):
                faults.append(f"{called(path)}:{line}: {name} is not there")
    none_of(faults)


def test_roles_of_public_docstrings_lead_into_the_reference():
    """Elsewhere they would be words in type, as good as a link for a reader of the source alone."""
    faults = []
    for name, value in (public() | methods()).items():
        if name.startswith("eigenlens.testing"):
            continue
        scopes = [name, name.rpartition(".")[0], "eigenlens"]
        for _, target in ROLE.findall(value.__doc__ or ""):
            places = [target, *(f"{scope}.{target}" for scope in scopes)]
            foreign = target.split(".")[0] != "eigenlens" and "." in target and imported(target)
            if not (foreign or any(in_reference(place) for place in places)):
                faults.append(f"{name}: {target} has no place in the reference")
    none_of(faults)
