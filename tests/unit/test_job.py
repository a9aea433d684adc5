"""What surrounds every job: its log, how it ends, and how far a long loop is."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.io import messages as progress_module
from attention_atlas.io.messages import progress
from attention_atlas.workflow.job import job

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def lines(rule) -> list[str]:
    """The log without its times."""
    return [
        line.split(" ", 2)[2] if line[:2] == "20" else line for line in rule.log[0].read_text(encoding="utf-8").splitlines()
    ]


def test_a_job_that_ends_well_says_so(rule, capsys):
    with job(rule) as log:
        log.info("half way: é")
        logging.getLogger("attention_atlas.somewhere").info("from the library")
    first, *following = lines(rule)
    assert first.startswith("INFO rule some_rule on Python 3.")
    assert first.endswith(", 3 threads")
    assert following == ["INFO half way: é", "INFO from the library", "INFO done"]
    assert capsys.readouterr().err == ""


def test_warnings_are_on_standard_error_too(rule, capsys):
    with job(rule) as log:
        log.warning("7 records dropped")
    assert "WARNING 7 records dropped" in capsys.readouterr().err


def test_threads_and_seed_are_fixed(rule):
    drawn = []
    for _ in range(2):
        with job(rule):
            assert [os.environ[name] for name in THREADS] == ["3"] * 3
            drawn.append(random.random())
    assert drawn[0] == drawn[1]
    for threads in (None, 0):
        rule.threads = threads
        with job(rule):
            assert os.environ["OMP_NUM_THREADS"] == "1"


def test_a_users_mistake_is_one_line_and_status_1(rule, capsys):
    with pytest.raises(SystemExit) as caught, job(rule):
        raise AtlasError("file.txt:3: it is wrong.")
    assert caught.value.code == 1
    assert lines(rule)[1:] == ["ERROR file.txt:3: it is wrong."]
    assert "Traceback" not in capsys.readouterr().err


def test_a_fault_of_the_program_keeps_its_traceback_and_is_raised_again(rule):
    with pytest.raises(ZeroDivisionError), job(rule):
        1 / 0  # noqa: B018
    log = lines(rule)
    assert log[1] == "ERROR rule some_rule failed"
    assert log[2].startswith("Traceback")
    assert log[-1] == "ZeroDivisionError: division by zero"
    assert not any("done" in line for line in log)


@pytest.mark.parametrize("error", [None, AtlasError("x"), ValueError("x")])
def test_no_handler_stays_behind(rule, error):
    before = list(logging.getLogger().handlers)
    try:
        with job(rule):
            assert len(logging.getLogger().handlers) == len(before) + 2
            if error:
                raise error
    except (SystemExit, ValueError):
        pass
    assert logging.getLogger().handlers == before
    logging.getLogger("later").warning("not for this log")
    assert not any("not for this log" in line for line in lines(rule))


def test_a_second_attempt_begins_a_new_log(rule):
    for word in ("first", "second"):
        with job(rule) as log:
            log.info(word)
    assert lines(rule)[1:] == ["INFO second", "INFO done"]


def test_chatter_of_libraries_is_left_out_but_their_warnings_are_not(rule):
    with job(rule):
        for name in ("httpx", "urllib3", "matplotlib"):
            logging.getLogger(name).info("chatter")
        logging.getLogger("urllib3").warning("a warning")
    assert lines(rule)[1:] == ["WARNING a warning", "INFO done"]


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by ten seconds at every look."""
    now = iter(range(0, 10_000, 10))
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: next(now)))


def logged(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == progress_module.__name__]


def test_without_a_terminal_a_line_now_and_then(clock, caplog):
    caplog.set_level(logging.INFO)
    assert list(progress(list("abcdefgh"), label="letters", every_s=30)) == list("abcdefgh")
    assert logged(caplog) == ["letters: 3 of 8 (38 %) after 30 s", "letters: 6 of 8 (75 %) after 60 s"]


def test_the_number_of_items_can_be_told_or_stay_unknown(clock, caplog):
    caplog.set_level(logging.INFO)
    assert list(progress(iter("abc"), label="letters", every_s=30)) == ["a", "b", "c"]
    assert list(progress(iter("abc"), total=6, label="letters", every_s=30)) == ["a", "b", "c"]
    assert logged(caplog) == ["letters: 3 after 30 s", "letters: 3 of 6 (50 %) after 30 s"]


def test_a_quick_loop_says_nothing(caplog):
    caplog.set_level(logging.INFO)
    assert list(progress(range(1000))) == list(range(1000))
    assert list(progress([])) == []
    assert logged(caplog) == []


def test_items_are_asked_for_one_at_a_time():
    requested = []

    def items():
        for item in range(3):
            requested.append(item)
            yield item

    loop = progress(items())
    assert next(loop) == 0
    assert requested == [0]


def test_on_a_terminal_a_bar(monkeypatch, capsys, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(progress_module.sys, "stderr", SimpleNamespace(isatty=lambda: True))
    seen = {}

    def bar(items, total, desc):
        seen.update(total=total, desc=desc)
        return items

    monkeypatch.setattr(progress_module, "tqdm", bar)
    assert list(progress(["a", "b"], total=2, label="letters", every_s=0)) == ["a", "b"]
    assert seen == {"total": 2, "desc": "letters"}
    assert logged(caplog) == []
    assert time.monotonic() > 0


FAULTS = """
import ctypes, resource, sys
from attention_atlas.workflow.job import keep_freed_memory

if sys.argv[1] == "kept" and not keep_freed_memory():
    sys.exit(3)
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    block = libc.malloc(64_000_000)
    ctypes.memset(block, 1, 64_000_000)
    libc.free(block)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_freed_memory_is_used_again():
    """A block of 64 MB is asked for 20 times; each page comes with a fault once, not 20 times."""
    faults = {}
    library = {**os.environ, "PYTHONPATH": str(Path(progress_module.__file__).parents[2])}
    for way in ("plain", "kept"):
        done = subprocess.run([sys.executable, "-c", FAULTS, way], capture_output=True, text=True, timeout=120, env=library)
        if done.returncode == 3:
            pytest.skip("the C library is not glibc")
        assert done.returncode == 0, done.stderr
        faults[way] = int(done.stdout)
    assert faults["kept"] < 0.2 * faults["plain"]
