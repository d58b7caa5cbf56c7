"""Real tables that the tests may use but the project does not carry."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("EIGENLENS_DATA", Path(__file__).parents[2] / "shared" / "data"))


def real_file(name):
    """Give the path of a table; skip the test where it is not there."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs {name}: neither EIGENLENS_DATA nor {DATA} has it")
    return path


def real_folder(*names):
    """Give the folder of the tables; skip the test where one of those named is not there."""
    for name in names:
        real_file(name)
    return DATA
