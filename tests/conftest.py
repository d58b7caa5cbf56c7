import os

import pytest
from hypothesis import settings

# No deadline: the first example of a property may have to compile a loop.
settings.register_profile("default", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_modifyitems(items):
    """Let a warning fail our tests; tests of other packages, run with our classes, keep theirs."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("error"))
