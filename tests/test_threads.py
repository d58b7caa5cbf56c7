"""Parallel blocks: ordered, safe under fork and threads; BLAS always gets its threads back."""

import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from eigenlens import PCA
from eigenlens._register import classes
from eigenlens.estimators._openmp import by_openmp
from eigenlens.ops import threads
from eigenlens.ops.jit import compiled
from eigenlens.testing.tables import assert_same_fit, changed, state
from tools.settings import SETTINGS

# so many fits with each number of threads
RUNS = 5 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1
ONE_OF_EACH = [next(s for s in SETTINGS if s.name == name) for name in classes()]
OPENMP = [
    s for s in SETTINGS if {"kmeans", "minibatch", "brute", "opentsne-bh"} & {*s.params.values()}
]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def threads_of(api):
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == api]


def blas_threads():
    return threads_of("blas")


def openmp_threads():
    return threads_of("openmp")


@pytest.fixture(autouse=True)
def gives_back_blas(many_threads):
    before = blas_threads()
    yield
    assert blas_threads() == before


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((20_000, 12)) * np.arange(1, 13) + 100


def variances(X):
    return PCA(3, svd_solver="covariance_eigh").fit(X).explained_variance_


def in_fresh_python(code, **variables):
    """Run `code` in an interpreter of its own, where a deadlock cannot take this one along."""
    code = textwrap.dedent(code)
    env = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    env |= variables
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_results_come_in_order():
    assert threads.run(lambda i: i * i, 100) == [i * i for i in range(100)]


def test_blas_is_held_at_one_thread_inside_and_only_there():
    inside = threads.run(lambda i: max(blas_threads()), 8)
    assert set(inside) == {1}


def test_a_task_may_run_tasks_without_waiting_for_itself():
    out = threads.run(lambda i: sum(threads.run(lambda j: i + j, 10)), 16)
    assert out == [10 * i + 45 for i in range(16)]


def test_an_error_in_a_block_reaches_the_caller():
    def fail(i):
        if i == 5:
            raise ArithmeticError("block 5")

    with pytest.raises(ArithmeticError, match="block 5"):
        threads.run(fail, 20)


def test_the_hold_is_counted():
    before = blas_threads()
    with threads.serial_blas():
        with threads.serial_blas():
            pass
        assert set(blas_threads()) == {1}  # an inner user must not lift the hold of an outer one
    assert blas_threads() == before


def test_overlapping_holds_of_two_threads_end_with_blas_free():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def first():
        with threads.serial_blas():
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=first)
    other.start()
    entered.wait(10)
    with threads.serial_blas():
        leave.set()
        other.join()
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_a_limit_of_the_user_is_respected(X):
    with threadpool_limits(1):
        assert threads.n_threads() == 1
        ran_in = set(threads.run(lambda i: threading.current_thread().name, 8))
        assert ran_in == {threading.current_thread().name}


def test_the_number_of_threads_does_not_change_a_bit(X):
    with threadpool_limits(1):
        alone = PCA(5, svd_solver="covariance_eigh").fit(X)
    together = PCA(5, svd_solver="covariance_eigh").fit(X)
    np.testing.assert_array_equal(alone.components_, together.components_)
    np.testing.assert_array_equal(alone.explained_variance_, together.explained_variance_)


def test_eight_threads_fit_at_once(X):
    expected = variances(X)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(variances, [X] * 32):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(X, backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(variances)(X) for _ in range(4))
    for f in found:
        np.testing.assert_allclose(f, variances(X), rtol=1e-12)


@needs_fork
def test_a_fork_after_a_fit_can_fit():
    out = in_fresh_python("""
        import os, sys
        import numpy as np, scipy.sparse
        from threadpoolctl import threadpool_info
        from eigenlens import PCA

        X = np.random.default_rng(0).standard_normal((20000, 12))
        S = scipy.sparse.random_array((3000, 900), density=0.02, rng=0, format="csr")
        limits = lambda: [lib["num_threads"] for lib in threadpool_info()]
        dense, sparse = PCA(3).fit(X), PCA(3, random_state=0).fit(S)
        before = limits()
        if (child := os.fork()) == 0:
            same = np.array_equal(dense.components_, PCA(3).fit(X).components_)
            same &= np.allclose(sparse.components_, PCA(3, random_state=0).fit(S).components_)
            os._exit(0 if same and limits() == before else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("child fitted")
    """)
    assert "child fitted" in out


@needs_fork
def test_a_fork_in_the_middle_of_a_fit_gets_blas_back():
    out = in_fresh_python("""
        import os
        from threadpoolctl import threadpool_info
        from eigenlens.ops import threads

        limits = lambda: [lib["num_threads"] for lib in threadpool_info()]
        before = limits()
        with threads.serial_blas():
            if (child := os.fork()) == 0:
                ok = limits() == before and threads.run(lambda i: i, 4) == [0, 1, 2, 3]
                os._exit(0 if ok and limits() == before else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert limits() == before
        print("child free")
    """)
    assert "child free" in out


def test_compiled_loops_work_where_nothing_can_be_written():
    """Numba refuses to cache there; the decorator must fall back to compiling in memory."""
    out = in_fresh_python("""
        import numba.core.caching as caching
        import numpy as np, scipy.sparse

        def refuse(self):
            raise OSError("read-only file system")

        caching._CacheLocator.ensure_cache_path = refuse
        from eigenlens import PCA

        S = scipy.sparse.random_array((3000, 900), density=0.02, rng=0, format="csr")
        print(PCA(3, random_state=0).fit(S).solver_)
    """)
    assert out.split() == ["arpack"]


def test_loops_are_plain_python_where_numba_is_told_so(monkeypatch):
    import numba

    @compiled
    def kind(x):
        return type(x).__name__  # which numba cannot compile

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert kind(1.0) == "float"


def test_loops_that_call_loops_compile_in_several_threads_at_once():
    out = in_fresh_python("""
        from concurrent.futures import ThreadPoolExecutor
        import numba.core.caching as caching
        import numpy as np

        def refuse(self):
            raise OSError("read-only file system")

        caching._CacheLocator.ensure_cache_path = refuse
        from eigenlens.ops.lasso import lasso_groups, lasso_rows

        def lasso(i):
            D, C = np.zeros((1, 2)), np.array([[3.0, 0.5]])
            args = np.eye(2), C, np.ones(2), D
            if i % 2:
                lasso_rows(*args, 1e-9, 100, False)
            else:
                lasso_groups(*args, np.array([0, 1]), np.ones(1), 1e-9, 100)
            return D.tolist()

        with ThreadPoolExecutor(4) as pool:
            print(list(pool.map(lasso, range(8))) == 8 * [[[2.0, 0.0]]])
    """)
    assert out.split() == ["True"]


def test_spans_cover_everything_once():
    for n, size in [(0, 4), (1, 4), (10, 3), (10, 100), (7, 7)]:
        pieces = threads.spans(n, size)
        assert [i for s in pieces for i in range(s.start, s.stop)] == list(range(n))
        assert all(s.stop - s.start <= size for s in pieces)


# ----------------------------------------------------------------------------- ahead


def test_ahead_keeps_the_order_and_stays_near():
    started = []

    def slow(i):
        started.append(i)
        time.sleep(0.002 * (i % 3))
        return i * i

    results = threads.ahead(slow, range(50))
    assert [next(results) for _ in range(5)] == [0, 1, 4, 9, 16]
    time.sleep(0.05)
    assert len(started) <= 5 + 1 + threads.n_threads()  # the rest waits to be asked for
    assert list(results) == [i * i for i in range(5, 50)]


def test_ahead_passes_errors_on_and_stops():
    def fails(i):
        if i == 3:
            raise KeyError("three")
        return i

    results = threads.ahead(fails, range(1000))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="three"):
        next(results)
    results = threads.ahead(fails, range(1000))
    next(results)
    results.close()  # a caller that has seen enough
    assert threads.run(lambda i: i, 4) == [0, 1, 2, 3]


def test_work_in_parallel_between_results_of_ahead():
    """The pool serves both: what is ahead never waits for the caller."""
    total = 0
    for value in threads.ahead(lambda i: i, range(200)):
        total += sum(threads.run(lambda j, value=value: value * j, 4))
    assert total == 6 * sum(range(200))


# ----------------------------------------------------------------------------- every class


@pytest.fixture
def four_cores(monkeypatch):
    """Let the pool have four threads, whatever the machine; give how often it was entered."""
    entered = []
    in_pool = threads._in_pool

    def counted(task, count, workers):
        entered.append(workers)
        return in_pool(task, count, workers)

    monkeypatch.setattr(threads, "_cores", lambda: 4)
    monkeypatch.setattr(threads._hold, "pool", None)
    monkeypatch.setattr(threads, "_in_pool", counted)
    yield entered
    if threads._hold.pool is not None:
        threads._hold.pool.shutdown()


@pytest.fixture
def may_stop_early():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def test_settings_are_of_every_class():
    assert {setting.name for setting in SETTINGS} == set(classes())


@pytest.mark.usefixtures("may_stop_early")
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_one_two_or_four_threads_give_the_same(setting, four_cores):
    """Stopped before they have converged, iterations are at the same place too. None is excused."""
    X, first = setting.table(), None
    for count in (1, 2, 4):
        del four_cores[:]
        with threadpool_limits(count):
            models = [setting.estimator().fit(X) for _ in range(RUNS)]
        if setting.shared:
            assert bool(four_cores) == (count > 1)
        first = first or models[0]
        for model in models:
            assert not changed(state(models[0]), state(model))
            assert_same_fit(first, model, 1e-10, f"{count} threads against one")


def fitted_at(i):
    setting = ONE_OF_EACH[i]
    return setting.estimator().fit(setting.table())


@pytest.mark.usefixtures("may_stop_early")
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_fits_side_by_side(backend):
    """Those of all classes at once find what each finds alone."""
    alone = [fitted_at(i) for i in range(len(ONE_OF_EACH))]
    before = joblib.hash(np.random.get_state())  # noqa: NPY002
    jobs = (joblib.delayed(fitted_at)(i) for i in range(len(ONE_OF_EACH)))
    together = joblib.Parallel(n_jobs=2, backend=backend)(jobs)
    assert joblib.hash(np.random.get_state()) == before  # noqa: NPY002
    for one, other in zip(alone, together, strict=True):
        assert_same_fit(one, other, 1e-10, f"{type(one).__name__} beside others")


@needs_fork
def test_a_fork_after_fits_of_all_classes_can_fit():
    """Also where OpenMP was entered before, by whom it may be: a child would wait for its threads.

    The children come from the one process, one after the other, so that each fits after all that
    was fitted before it.
    """
    places = sorted({SETTINGS.index(setting) for setting in ONE_OF_EACH + OPENMP})
    out = in_fresh_python(
        f"""
        import os, signal, warnings
        from sklearn.cluster import KMeans
        from eigenlens.testing.tables import changed, state
        from tools.settings import SETTINGS

        warnings.simplefilter("ignore")
        KMeans(4, random_state=0, n_init=1).fit(SETTINGS[0].table())
        for place in {places}:
            setting = SETTINGS[place]
            X = setting.table()
            here = state(setting.estimator().fit(X))
            if (child := os.fork()) == 0:
                signal.alarm(30)
                os._exit(3 if changed(here, state(setting.estimator().fit(X))) else 0)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert code == 0, f"{{setting}} in a child ended with {{code}}"
        print("children fitted")
        """,
        OMP_NUM_THREADS="2",
        OPENBLAS_NUM_THREADS="2",
        PYTHONPATH=os.pathsep.join(sys.path),
    )
    assert "children fitted" in out


def test_openmp_has_the_threads_that_the_caller_has():
    for count in (1, 3):
        with threadpool_limits(count, user_api="openmp"):
            assert threads.apart(openmp_threads) == openmp_threads() != []
            assert set(openmp_threads()) == {count}


def test_apart_hands_errors_on():
    def fail():
        raise ArithmeticError("apart")

    with pytest.raises(ArithmeticError, match="apart"):
        threads.apart(fail)


def test_configuration_of_scikit_learn_is_taken_along():
    seen = []
    with sklearn.config_context(working_memory=7):
        by_openmp(lambda: seen.append(sklearn.get_config()["working_memory"]))
    assert seen == [7]


def test_limits_set_apart_do_not_outlive_a_hold():
    """Who limits BLAS while another holds it would give back one thread when the hold is over."""
    out = in_fresh_python(
        """
        import threading
        from threadpoolctl import threadpool_info, threadpool_limits
        from eigenlens.ops import threads

        blas = lambda: [(lib["user_api"], lib["num_threads"]) for lib in threadpool_info()]
        before = blas()
        entered, leave = threading.Event(), threading.Event()

        def limited():
            with threadpool_limits(1, user_api="blas"):
                entered.set()
                leave.wait(10)

        with threads.serial_blas():
            other = threading.Thread(target=threads.apart, args=(limited,))
            other.start()
            entered.wait(10)
        leave.set()
        other.join()
        print(blas() == before)
        """,
        OPENBLAS_NUM_THREADS="2",
    )
    assert out.split() == ["True"]
