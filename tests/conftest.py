import os

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# No deadline: the first example of a property may have to compile a loop.
settings.register_profile("default", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def many_threads():
    """Let BLAS and our pool have several threads, where ``make test`` leaves one to each worker."""
    with threadpool_limits(4):
        yield


def pytest_collection_modifyitems(items):
    """Let a warning fail our tests; tests of other packages, run with our classes, keep theirs."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("error"))
