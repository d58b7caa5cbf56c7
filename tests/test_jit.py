"""What the first fit on a machine compiles."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
import numpy as np
from numba.core import event
import eigenlens
from eigenlens.ops import {ops}

class Names(event.Listener):
    names = []
    def on_start(self, one):
        self.names.append(one.data["dispatcher"].py_func.__qualname__)
    def on_end(self, one):
        pass

event.register("numba:compile", Names())
X = np.random.default_rng(0).random((40, 8))
{fit}.fit(X)
loops = [getattr(each, "dispatcher", None) for each in vars({ops}).values()]
signatures = [str(one) for loop in loops if loop for one in getattr(loop(), "signatures", [])]
json.dump([Names.names, signatures], sys.stdout)
"""


@pytest.mark.parametrize(
    ("ops", "fit", "loop"),
    [
        ("lasso", "eigenlens.NMF(3)", "_descend_panels"),
        ("student", "eigenlens.TSNE(perplexity=5, max_iter=250)", "repel"),
    ],
)
def test_nothing_is_compiled_that_no_fit_needs(ops, fit, loop, tmp_path, monkeypatch):
    # numba makes a text of shapes that do not fit, in case one array is assigned to a part of
    # another: a second; and compiles what is called for a constant, and again for any number
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT.format(ops=ops, fit=fit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    compiled, signatures = json.loads(done.stdout)
    assert loop in compiled
    assert not [name for name in compiled if "shape_context" in name or "_str" in name]
    assert not [one for one in signatures if "Literal[int]" in one]
