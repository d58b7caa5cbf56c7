"""The spelling of prose: British, and in a dictionary."""

import ast
import re
from functools import cache
from importlib import metadata
from importlib.resources import files

import pytest
from documents import (
    CODE,
    DOCS,
    FENCED,
    FRONT,
    SCRIPTS,
    SECTIONS,
    SOURCES,
    called,
    none_of,
    text_of,
)
from spellchecker import SpellChecker

import eigenlens

WORDS = set(
    """
    abess argmin biplot changelog checksum checksums chunking const dataframe dataframes ddof
    denoise denormal der dict dicts docstring docstrings dtype eigen eigenface eigenfaces eigenlens
    eigenpair eigenpairs eigenproblem eigensolver eigenvector eigenvectors enum eps eq faiss
    gaussians gejsv gesdd init int laplacian majorisation matern mergeable metadata ndarray
    nonmetric nonzeros ns orthogonalised overcomplete overfits preimage promax quantile
    quantiles rbf resampled roundings roundoff scalers str subgradients thresholded
    thresholding tol tr traceback tuple tuples underflows unmix uv varimax zlib
    """.split()  # noqa: SIM905  as a list it would be a column of a hundred lines
)
"""Words that are right and in no dictionary. Names of code are better written as `code`."""

BOTH = {"biased", "dialog", "license", "meter", "practice", "program", "story", "stories"}
"""Words that codespell has for American ones, and that are good in Britain too."""

MORE = {
    "centering": "centring",
    "fiber": "fibre",
    "neighborhood": "neighbourhood",
    "tumor": "tumour",
}
"""American words that codespell does not know of."""

SIZES = re.compile(r"(?:down|out|over|re|under)?(?:s|pr|se|caps)iz(?:e|ed|es|ing)")
IZE = re.compile(r"iz(e|ed|es|er|ers|ing|able|ation|ations)$")
ISE = re.compile(r"is(e|ed|es|er|ers|ing|able|ation|ations)$")
TITLE = re.compile(r"(?:(?!\n *\n).)*(?:\(|\d, )(?:1[89]|20)\d\d\)", re.DOTALL)
"""What is before the year of a publication: a title, in the spelling of its author."""

LITERAL = re.compile(r"^( *)(?:\S.*)?::.*\n(?:\n|\1 +.*(?:\n|$))*", re.MULTILINE)
DOCTEST = re.compile(r"^ *>>> .*\n(?: *\S.*(?:\n|$))*", re.MULTILINE)
TYPES = re.compile(r"^ *[\w*]+(?:, [\w*]+)* : .*$", re.MULTILINE)
MATHS = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
MARKS = re.compile(r"<!--.*?-->|<[^>\n]*>|\{[^}\n]*\}|\b[a-z]+:\S+|:\w+:(?=`)|'[\w-]+'", re.DOTALL)
CITED = re.compile(r"^( *)References\n *-+\n(?:(?!\n *\n *\w+\n *---).)*", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?:[a-z,;]|\b[A-Z]\.) ([A-ZÀ-Ž][a-zà-ž]+)\b")
WORD = re.compile(r"(?<![\w.'/\\@])[A-Za-zÀ-ž]{2,}(?:'[a-z]+)?(?![\w\\/(=]|\.\w)")


def prose(path):
    """Return the prose of a page, a script of the gallery, or a module: text without code."""
    text = text_of(path)
    if path.suffix == ".md":
        return without_code(re.sub(r"\]\([^)]*\)", "]", MATHS.sub(" ", FENCED.sub("", text))))
    if path.suffix == ".rst":
        return without_code(text)
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef
    parts = [
        ast.get_docstring(node) for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)
    ]
    if path in SCRIPTS:
        parts += re.findall(r"(?:^# (?!%%).*\n)+", text, re.MULTILINE)
        parts = [re.sub("^# ?", "", part or "", flags=re.MULTILINE) for part in parts]
    return "\n\n".join(without_code(part) for part in parts if part)


def without_code(text):
    for pattern in (DOCTEST, LITERAL, CITED, TYPES, MARKS, CODE):
        text = pattern.sub(" ", text)
    return text


@cache
def dictionary():
    """Return English words, in American spelling and in British, and names of what is at hand."""
    needed = {re.split(r"[^\w-]", need)[0].lower() for need in metadata.requires("eigenlens")}
    return {
        *SpellChecker(language="en").word_frequency.words(),
        *american(),
        *american().values(),
        *named(),
        *(name.lower() for name in eigenlens.__all__),
        *(part for name in needed for part in name.split("-")),
    }


@cache
def american():
    """Return British spellings by the American ones."""
    lines = files("codespell_lib").joinpath("data/dictionary_en-GB_to_en-US.txt").read_text("utf-8")
    pairs = [line.split("->") for line in lines.split("\n") if "->" in line]
    return MORE | {theirs: ours for ours, theirs in pairs if theirs not in BOTH}


def in_british(word):
    """Return a lower-case word as it is spelt in Britain."""
    stem = word if word in american() else word.removesuffix("s")
    if stem in american():
        return american()[stem] + word.removeprefix(stem)
    return word if SIZES.fullmatch(word) or word in named() else IZE.sub(r"is\1", word)


@cache
def named():
    """Return the words that public names are made of, which have scikit-learn's spelling."""
    return {word.lower() for name in eigenlens.__all__ for word in re.findall("[A-Z]?[a-z]+", name)}


@cache
def people():
    """Return the names that stand within a sentence somewhere, or behind an initial."""
    texts = map(text_of, [*FRONT, *DOCS, *SCRIPTS, *SECTIONS, *SOURCES])
    return {name for text in texts for name in NAME.findall(text)}


def is_word(word):
    """Whether a British word is in the dictionary, which knows more of the American ones."""
    low = word.lower()
    theirs = ISE.sub(r"iz\1", low).replace("our", "or")
    known = low in dictionary() or theirs in dictionary() or low in WORDS
    return known or word in people()


def begins(before):
    """Whether a sentence begins behind a text, of which an initial of a name is no end."""
    line = before.rpartition("\n")[2].strip()
    return not before or line == "-" or re.search(r"(?<!\b[A-Z])[.:?!|#]$", line)


def mistakes(text):
    """Return the words of a text that are in no dictionary or in the wrong one."""
    for match in WORD.finditer(text):
        word, start = re.sub(r"'s?$", "", match[0]), match.start()
        before = text[max(0, start - 100) : start].rstrip(" \n(\"'*")
        if word != word.lower() and not (begins(before) and word == word.capitalize()):
            continue  # the name of somebody, or of a class
        ours = in_british(word.lower())
        if ours != word.lower() and not TITLE.match(text[start : start + 250]):
            yield f"{word} is American, for {ours}"
        elif not is_word(word):
            yield f"{word} is in no dictionary"


@pytest.mark.parametrize(
    "paths",
    [FRONT, DOCS, [*SCRIPTS, *SECTIONS], SOURCES],
    ids=["front", "docs", "examples", "src"],
)
def test_prose_is_spelt_as_in_a_british_dictionary(paths):
    none_of({f"{called(path)}: {wrong}" for path in paths for wrong in mistakes(prose(path))})


def test_spelling_is_seen():
    """The check of words can fail."""
    text = """
        Neighbours of a centred colour, normalised and sized: Gaussian's.
        Qthw neihbur of Mrs Qwrtz has a neighborhood, two colors and normalizes.

        A. Qwrtz, On centers and optimization, Journal (1999).
        """
    wrong = [line.split()[0] for line in mistakes(text)]
    assert wrong == ["Qthw", "neihbur", "neighborhood", "colors", "normalizes"]


def test_prose_is_told_from_code(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Words `cod`\n\nand [link](plce.md) $\\mth$\n\n```python\ncoed\n```\nend\n")
    assert prose(page).split() == ["#", "Words", "and", "[link]", "end"]
    module = tmp_path / "module.py"
    module.write_text(
        '''"""Says::

    cde

and :math:`x` more.

Parameters
----------
paramtr : inty
    It is :func:`fun` and ``cde``.

References
----------
Somebdy.

Examples
--------
>>> cde
edc
"""
# a comment is for readers of the source
'''
    )
    words = " ".join(prose(module).split())
    assert words == "and more. Parameters ---------- It is and . Examples --------"
