"""Jobs as copies of a process that has imported their libraries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from attention_atlas.workflow.preload import Preloaded, _record, one_thread

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are copied on Linux alone")
HEAVY = "colorsys"
"""A module of the standard library that nothing else imports stands for a large library."""


@pytest.fixture
def preloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Preloaded:
    """A server, whose jobs run in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    return Preloaded([HEAVY, "no_such_library"])


def script(folder: Path, text: str) -> str:
    """A script that writes what `facts` holds at its end."""
    path = folder / "job.py"
    path.write_text(
        f"import json, os, signal, sys, time\nfacts = {{}}\n{text}\nopen('facts.json', 'w').write(json.dumps(facts))\n",
        encoding="utf-8",
    )
    return str(path)


def finished(preloaded: Preloaded, script: str, **environment: str) -> tuple[int, dict[str, float]]:
    """Run a job to its end: exit status and what it used."""
    return preloaded.start(script, {"PATH": os.environ["PATH"], **environment}).wait()


def test_a_job_is_a_process_of_its_own_with_the_libraries_loaded(preloaded, tmp_path):
    path = script(
        tmp_path,
        f"facts |= {{'loaded': {HEAVY!r} in sys.modules, 'pid': os.getpid(), 'name': __name__, 'argv': sys.argv}}\n"
        "facts |= {'environment': dict(os.environ), 'folder': os.getcwd(), 'beside': sys.path[0], 'package': "
        "[name for name in sys.modules if name.startswith('attention_atlas')]}\n"
        "facts |= {'input': sys.stdin.read(), 'process': open('/proc/self/comm').read()}",
    )
    started = preloaded.start(path, {"ONLY": "this"}, "clark2019_figure2")
    status, used = started.wait()
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert status == 0
    assert used["cpu_time"] >= 0
    assert facts["pid"] == started.pid != os.getpid()
    assert facts["loaded"]
    assert (facts["name"], facts["argv"], facts["beside"]) == ("__main__", [path], str(tmp_path))
    assert (facts["environment"], facts["folder"]) == ({"ONLY": "this"}, str(tmp_path))
    assert (facts["input"], facts["process"]) == ("", "clark2019_figur\n")
    assert facts["package"] == [], "a job has the package as it is when the job starts"


def test_two_jobs_share_nothing_but_the_libraries(preloaded, tmp_path):
    path = script(tmp_path, f"import {HEAVY}\nfacts['seen'] = getattr({HEAVY}, 'mark', None)\n{HEAVY}.mark = os.getpid()")
    for _ in range(2):
        assert finished(preloaded, path)[0] == 0
        assert json.loads((tmp_path / "facts.json").read_text()) == {"seen": None}


@pytest.mark.parametrize(
    ("end", "status"),
    [("sys.exit(3)", 3), ("sys.exit('a sentence')", 1), ("sys.exit()", 0), ("raise ValueError('why')", 1)],
)
def test_the_status_of_a_job_is_that_of_a_process(preloaded, tmp_path, end, status):
    assert finished(preloaded, script(tmp_path, end))[0] == status
    alone = subprocess.run([sys.executable, str(tmp_path / "job.py")], capture_output=True, check=False)
    assert alone.returncode == status


@pytest.mark.parametrize("end", ["", "sys.exit(3)"])
def test_a_job_ends_with_its_threads_its_exit_functions_and_its_output(tmp_path, end):
    path = script(
        tmp_path,
        "import atexit, threading, pathlib\n"
        "atexit.register(pathlib.Path('left').write_text, 'by an exit function')\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), pathlib.Path('late').write_text('by a thread'))).start()\n"
        f"print('no end of line', end='')\n{end}",
    )
    code = f"from attention_atlas.workflow.preload import Preloaded; print(Preloaded([]).start({path!r}, {{}}).wait()[0])"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "workflow/lib")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
    )
    assert done.stdout == f"no end of line{3 if end else 0}\n"
    assert (tmp_path / "left").read_text() == "by an exit function"
    assert (tmp_path / "late").read_text() == "by a thread"


def test_the_traceback_of_a_job_can_be_read(tmp_path):
    """In a process of its own, whose standard error a test can read."""
    path = script(tmp_path, "raise ValueError('why it failed')")
    code = f"from attention_atlas.workflow.preload import Preloaded; print(Preloaded([]).start({path!r}, {{}}).wait()[0])"
    library = Path(__file__).resolve().parents[2] / "workflow/lib"
    environment = {**os.environ, "PYTHONPATH": str(library)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "1\n"
    assert f'File "{path}", line 3' in done.stderr
    assert "ValueError: why it failed" in done.stderr


def test_a_killed_job_is_a_failure(preloaded, tmp_path):
    assert finished(preloaded, script(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")) == (-9, {})


def test_an_interrupt_ends_a_job_and_not_what_it_is_a_copy_of(preloaded, tmp_path):
    waiting = script(tmp_path, "open('began', 'w').close(); time.sleep(60)")
    started = preloaded.start(waiting, {})
    server = psutil.Process(started.pid).parent()
    end = time.monotonic() + 30
    while not (tmp_path / "began").exists() and time.monotonic() < end:
        time.sleep(0.01)
    for pid in (server.pid, started.pid):  # as a terminal does: to all of them
        os.kill(pid, signal.SIGINT)
    assert started.wait()[0] == 1
    assert finished(preloaded, script(tmp_path, ""))[0] == 0
    assert server.is_running()


def test_a_killed_server_is_started_anew(preloaded, tmp_path):
    path = script(tmp_path, "facts['parent'] = os.getppid()")
    parents = []
    for _ in range(2):
        assert finished(preloaded, path)[0] == 0
        parents.append(json.loads((tmp_path / "facts.json").read_text())["parent"])
        server = psutil.Process(parents[-1])
        server.kill()
        server.wait(30)
    assert parents[0] != parents[1]


def test_the_server_ends_with_the_workflow(tmp_path):
    path = script(tmp_path, "open(sys.argv[0] + '.parent', 'w').write(str(os.getppid()))")
    code = f"from attention_atlas.workflow.preload import Preloaded; p = Preloaded([]); p.start({path!r}, {{}}).wait()"
    library = Path(__file__).resolve().parents[2] / "workflow/lib"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(library)}, check=True)
    server = int(Path(f"{path}.parent").read_text())
    end = time.monotonic() + 30
    while psutil.pid_exists(server) and psutil.Process(server).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end, "the server outlives the workflow"
        time.sleep(0.01)


def test_processor_seconds_are_those_of_the_job_and_its_processes(preloaded, tmp_path):
    busy = "end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    (tmp_path / "busy.py").write_text(f"import time\n{busy}\n", encoding="utf-8")
    path = script(tmp_path, f"import subprocess\n{busy}\nsubprocess.run([sys.executable, 'busy.py'])")
    status, used = finished(preloaded, path)
    assert status == 0
    assert 0.6 <= used["cpu_time"] < 1.5


def test_memory_is_the_largest_that_the_job_had(preloaded, tmp_path):
    before = finished(preloaded, script(tmp_path, ""))[1]
    after = finished(preloaded, script(tmp_path, "held = bytearray(b'x') * (200 * 2**20)\ndel held"))[1]
    assert 190 < after["max_rss"] - before["max_rss"] < 240
    assert after["max_vms"] >= after["max_rss"]


def test_what_a_job_used_becomes_snakemakes_record(preloaded, tmp_path):
    from snakemake.benchmark import BenchmarkRecord

    used = finished(preloaded, script(tmp_path, "open('written', 'wb').write(bytes(2**20)); os.sync()"))[1]
    record = BenchmarkRecord()
    _record(record, 2.0, used)
    columns = dict(zip(record.get_header(), record.get_benchmarks(), strict=True))
    assert (columns["s"], columns["cpu_time"], columns["max_rss"]) == (2.0, used["cpu_time"], used["max_rss"])
    assert columns["mean_load"] == pytest.approx(50 * used["cpu_time"])
    assert columns["io_out"] >= 0
    killed = BenchmarkRecord()
    _record(killed, 2.0, {})
    assert dict(zip(killed.get_header(), killed.get_benchmarks(), strict=True))["max_rss"] == "NA"


def test_one_thread_is_what_snakemake_gives_such_a_job():
    from snakemake.shell import shell

    lines = "import os, json; print(json.dumps(dict(os.environ)))"
    given = json.loads(shell(f"{sys.executable} -c '{lines}'", read=True, threads=1))
    assert {name for name in given if name.endswith("_THREADS")} >= set(one_thread({}))
    assert {name: given[name] for name in one_thread({})} == one_thread({})
