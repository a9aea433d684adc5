"""Jobs on one machine start as copies of a process that has imported their libraries: see `preload_server`.

Importing torch and transformers takes 4 to 8 s of processor time, pandas and matplotlib 1.5 s, and a run has hundreds of jobs.
Each job is still a separate process. Jobs start in Snakemake's usual way if a copy would not be equivalent: in a conda
environment or a container, with several threads (libraries read their number when they are loaded), on a cluster node, or on a
system other than Linux.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ANALYSIS = (
    *("numpy", "pandas", "pyarrow.parquet", "scipy.stats", "scipy.special", "scipy.spatial.distance", "yaml", "tqdm"),
    *("matplotlib.pyplot", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "seaborn"),
    *("matplotlib.backends.backend_pdf", "safetensors.numpy", "tokenizers", "nltk", "sklearn.cluster", "sklearn.metrics"),
    "snakemake.iocontainers",
)
LIBRARIES = {
    "analysis": ANALYSIS,
    "model": (
        *ANALYSIS,
        *("torch", "safetensors.torch", "transformers.modeling_utils", "transformers.models.auto.modeling_auto"),
        *("transformers.models.bert.modeling_bert", "transformers.trainer", "datasets"),
    ),
}
"""Environment of a rule, by the name of its file in envs/ -> modules that take most of the start time of its jobs."""
_THREADS = (
    *("OMP_NUM_THREADS", "GOTO_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    "NUMEXPR_NUM_THREADS",
)

_LONGEST_END = 5.0
"""Seconds that the workflow waits for these processes as it ends."""


class Preloaded:
    """A process that has imported libraries; it is started for the first job, and again if it has ended.

    Args:
        libraries: names of modules.
    """

    def __init__(self, libraries: Sequence[str]):
        self._libraries = libraries
        self._requests: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self, script: str, environment: Mapping[str, str], name: str = "job") -> Started:
        """Start a job in the current folder.

        Args:
            script: the Python file to run.
            environment: all its environment variables.
            name: name of its process.
        """
        job = {"script": script, "environment": dict(environment), "folder": os.getcwd(), "name": name}
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                self._send(job, theirs)
            except OSError:
                # Killed from outside, or never started.
                self._requests = None
                self._send(job, theirs)
        return Started(ours)

    def stop(self) -> None:
        """End the process; it waits for its jobs, which have ended unless the workflow was interrupted."""
        if self._requests is not None and self._process is not None:
            self._requests.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LONGEST_END)

    def _send(self, job: Mapping[str, Any], report: socket.socket) -> None:
        if self._requests is None:
            self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            # -P: do not import modules from the folder of the file.
            command = [sys.executable, "-P", str(Path(__file__).with_name("preload_server.py")), *self._libraries]
            with theirs:
                self._process = subprocess.Popen(command, stdin=theirs.fileno(), env=one_thread(os.environ))
        socket.send_fds(self._requests, [json.dumps(job).encode()], [report.fileno()])


class Started:
    """A running job, as described by its reports."""

    def __init__(self, report: socket.socket):
        self._reports = report.makefile("r", encoding="ascii")
        report.close()
        self.pid = int(self._reports.readline() or 0)
        """Id of its process; 0 if it was killed before it started."""

    def wait(self) -> tuple[int, dict[str, float]]:
        """Wait for its end: exit status and resource usage (see `preload_server.usage`); -9 and no usage if it was killed."""
        with self._reports:
            status, _, used = self._reports.readline().partition(" ")
            self._reports.read()  # which lasts until the process is gone
        return (int(status), json.loads(used)) if status else (-9, {})


def one_thread(environment: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that limit linear algebra libraries to one thread, as Snakemake sets them for such a job."""
    return {**environment, **dict.fromkeys(_THREADS, "1")}


def preload_libraries(environment_of: Callable[[str], str], scripts: Path) -> None:
    """Start the jobs of a workflow as copies of processes that have imported their libraries.

    Args:
        environment_of: rule -> name of its environment in envs/.
        scripts: folder of the scripts that start this way.
    """
    if not sys.platform.startswith("linux"):
        return
    from snakemake.script import PythonScript

    servers = {name: Preloaded(libraries) for name, libraries in LIBRARIES.items()}
    for server in servers.values():
        atexit.register(server.stop)
    started_alone = PythonScript.execute_script

    @functools.wraps(started_alone)
    def execute_script(self: Any, fname: str, edit: bool = False) -> None:
        is_ours = self.is_local and Path(self.local_path).resolve().parent == scripts.resolve()
        alone = self.conda_env or self.container_img or self.env_modules or self.shadow_dir or self.threads != 1
        preloaded = servers.get(environment_of(self.rulename)) if is_ours else None
        if alone or edit or preloaded is None:
            started_alone(self, fname, edit)
            return
        started = time.time()
        job = preloaded.start(fname, one_thread(os.environ) | _temporary(self.resources), self.rulename)
        status, used = job.wait()
        if self.bench_record is not None:
            _record(self.bench_record, time.time() - started, used)
        if status:
            raise subprocess.CalledProcessError(status, f"{sys.executable} {fname}")

    PythonScript.execute_script = execute_script


def _record(record: Any, seconds: float, used: Mapping[str, float]) -> None:
    """A job's reported resource usage, as a benchmark record of Snakemake.

    Snakemake samples the memory of all processes of a job twice a second, which takes longer the more memory they map: a tenth
    of the time of short jobs. The maxima of unique and proportional set size, which need such sampling, are omitted.
    """
    record.running_time = seconds
    record.data_collected = bool(used)
    # Killed before it could report: not an error of the benchmark.
    record.process_gone = not used
    for name, value in used.items():
        setattr(record, name, value)
    # Percent of one processor, times seconds.
    record.cpu_usage = 100 * used.get("cpu_time", 0.0)


def _temporary(resources: Any) -> dict[str, str]:
    """The folder for temporary files that Snakemake gives a job."""
    folder = resources.get("tmpdir")
    return dict.fromkeys(("TMPDIR", "TMP", "TEMPDIR", "TEMP"), str(folder)) if folder else {}
