"""A process that has imported the libraries of jobs, and becomes a job by making a copy of itself (`os.fork`).

Started by `preload` with names of libraries and a socket as standard input. Each message on the socket is a job in JSON, with
the socket on which its process reports. It ends with the workflow, when the other end of its socket is closed. It imports
nothing from this package, so that jobs use the version of the package at their start.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import resource
import runpy
import signal
import socket
import sys
import threading
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

LONGEST_MESSAGE = 1 << 20


def serve(requests: socket.socket, libraries: Sequence[str]) -> None:
    """Import libraries, then start a job for each message until the other end of the socket is closed.

    Args:
        requests: socket that preserves message boundaries (`SOCK_SEQPACKET`).
        libraries: names of modules; one that is not installed is left to the jobs that need it.
    """
    # Jobs and workflow handle an interrupt from the keyboard.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for library in libraries:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    # Garbage collection in the jobs would write to the shared memory pages, and so copy them.
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, LONGEST_MESSAGE, 1)
        _collect_ended(os.WNOHANG if message else 0)
        if not message:
            return
        report = socket.socket(fileno=descriptors[0])
        if os.fork() == 0:
            requests.detach()
            _become(json.loads(message), report)
        report.close()


def _collect_ended(options: int) -> None:
    """Reap jobs that have ended, so that their processes are gone and their time counts towards that of this process."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _become(job: dict[str, Any], report: socket.socket) -> NoReturn:
    """Run the script of a job in this process; report the process id, then the exit status and resource usage."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Its name in process lists; the system keeps 15 characters.
    Path("/proc/self/comm").write_text(job["name"][:15], encoding="ascii")
    report.sendall(f"{os.getpid()}\n".encode())
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    sys.argv = [job["script"]]
    sys.path.insert(0, os.path.dirname(os.path.abspath(job["script"])))
    status = 1
    try:
        runpy.run_path(job["script"], run_name="__main__")
        status = 0
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    finally:
        report.sendall(f"{status} {json.dumps(usage())}\n".encode())
    _end(status)


def _end(status: int) -> NoReturn:
    """End this process without unloading its libraries, which takes 0.2 s for pandas and 0.5 s for torch."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    # What the interpreter would do at exit: flush logs, remove temporary folders.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def usage() -> dict[str, float]:
    """Resource usage of this process, by the names in Snakemake's benchmarks.

    cpu_time: seconds, including processes that it started and waited for; max_rss, max_vms: MiB; io_in, io_out: MiB
    read from and written to disk.
    """
    times = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    memory, disk = _fields("/proc/self/status"), _fields("/proc/self/io")
    return {
        "cpu_time": round(sum(time.ru_utime + time.ru_stime for time in times), 2),
        "max_rss": memory["VmHWM"] / 1024,
        "max_vms": memory["VmPeak"] / 1024,
        "io_in": disk["read_bytes"] / 1024**2,
        "io_out": disk["write_bytes"] / 1024**2,
    }


def _fields(path: str) -> dict[str, int]:
    """Lines "name: number" of a system file; 0 for names that are not in it."""
    lines = (line.split() for line in Path(path).read_text(encoding="ascii", errors="replace").splitlines())
    numbers = {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}
    return defaultdict(int, numbers)


if __name__ == "__main__":
    serve(socket.socket(fileno=0), sys.argv[1:])
