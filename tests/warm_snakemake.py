"""Snakemake as it is, but jobs are forked from a process that has imported the large libraries, which takes seconds a job."""

import multiprocessing
import runpy
import subprocess
import sys
import threading
from multiprocessing.connection import wait

LIBRARIES = "pyarrow.parquet sklearn.linear_model seaborn transformers.trainer transformers.models.bert.modeling_bert"
FORKS = multiprocessing.get_context("forkserver")
ONE_AT_A_TIME = threading.Lock()

if __name__ == "__main__":  # forked jobs import this file too, and need none of what follows
    from snakemake.benchmark import benchmarked
    from snakemake.cli import main
    from snakemake.script import PythonScript

    def execute_script(self: PythonScript, fname: str, edit: bool = False) -> None:
        job = FORKS.Process(target=runpy.run_path, args=(fname,), kwargs={"run_name": "__main__"})
        with ONE_AT_A_TIME:
            job.start()
        with benchmarked(job.pid, self.bench_record):
            wait([job.sentinel])
        with ONE_AT_A_TIME:  # where two threads ask for its end at once, one is told a wrong status
            job.join()
        if job.exitcode:
            raise subprocess.CalledProcessError(job.exitcode, fname)

    PythonScript.execute_script = execute_script
    FORKS.set_forkserver_preload(LIBRARIES.split())
    sys.exit(main())
