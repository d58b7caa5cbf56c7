"""The example of the news words: its topics, word for word."""

import runpy
import sys
from pathlib import Path

import pytest
from real_data import real_file

SCRIPT = Path(__file__).parents[1] / "examples" / "news_words.py"

# What was printed for scikit-learn's SparsePCA(alpha=2, n_components=20) of this table, for each
# component with a positive loading. The others have their other sign there, and no word.
PRINTED = {
    2: "card data disk display dos driver files format ftp graphics image mac memory pc program "
    "server software version video win windows",
    3: "phone research science university",
    4: "question",
    5: "help",
    6: "bible children christian earth evidence god human jesus jews religion science",
    7: "problem",
    10: "memory system",
    12: "data earth format ftp image launch mars mission moon nasa orbit program research "
    "satellite science shuttle solar space technology",
    14: "case",
    16: "car disk drive mac pc scsi software",
    18: "power",
}
SPORT = "baseball fans games hit hockey league nhl players season team win won"


@pytest.fixture(scope="module")
def example():
    """Run the script as a user does; give its variables."""
    file = real_file("20news_w100.npz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(SCRIPT), str(file)])
        return runpy.run_path(str(SCRIPT), run_name="__main__")


@pytest.mark.parametrize("number", PRINTED)
def test_words_are_those_that_were_printed(example, number):
    assert example["topics"][number - 1] == PRINTED[number].split()


def test_topics_are_found(example):
    assert len(PRINTED[12].split()) == 19
    for words in ({"windows", "graphics"}, {"god", "bible"}, {"hockey", "team"}, {"space", "nasa"}):
        assert sum(words <= set(topic) for topic in example["topics"]) == 1
    assert example["topics"][8] == SPORT.split()


def test_numbers_of_the_text_are_right(example):
    path, dense, sparse = example["path"], example["dense"], example["sparse"]
    assert sparse.converged_
    assert 17.5 < sparse.components_.size / sum(sparse.n_nonzero_) < 18.5
    assert (dense.components_ != 0).all()
    assert dense.explained_variance_ratio_.sum() == pytest.approx(0.51, abs=0.005)
    assert path.total_ratio[path.total_nonzero == 20].max() == pytest.approx(0.43, abs=0.005)


def test_the_table_is_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    with pytest.raises(SystemExit, match="Give the path"):
        runpy.run_path(str(SCRIPT), run_name="__main__")
