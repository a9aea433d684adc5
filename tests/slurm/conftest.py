"""A real Slurm of one machine for the tests, started by a script that LOCAL_SLURM names (default ../shared/local-slurm)."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from workspaces import ROOT, SMALL, Workspace, listen_to_interrupts, small_run

STARTER = Path(os.environ.get("LOCAL_SLURM", ROOT.parent / "shared" / "local-slurm"))
# Nodes need not have what they claim; the largest group of jobs asks for eight processors.
NODES, PROCESSORS, MEGABYTES = 2, 8, 20000
LIMIT = 1500
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch")


@dataclass(frozen=True)
class Cluster:
    """A running Slurm: its folder and what has to be in the environment of a client."""

    folder: Path
    environment: dict[str, str]

    def command(self, *arguments: str) -> str:
        """Standard output of one of Slurm's commands."""
        return subprocess.run(
            arguments, env=os.environ | self.environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def jobs(self) -> list[dict[str, str]]:
        """Every job of the last hour: id, name, comment (rule), state, requested memory and node."""
        fields = "JobID,Name,Comment,State,MinMemory,NodeList"
        output = self.command("squeue", "--states=all", "--noheader", f"--Format={':100,'.join(fields.split(','))}:100")
        lines = [[cell.strip() for cell in re.findall(".{1,100}", line)] for line in output.splitlines()]
        return [dict(zip(fields.split(","), cells, strict=True)) for cells in lines]

    def start(self, workspace: Workspace, *arguments: str) -> subprocess.Popen[str]:
        """Start Snakemake with the Slurm profile on a workspace; both outputs in the pipe."""
        command = [
            *(sys.executable, str(Path(__file__).with_name("quick_snakemake.py"))),
            *("--workflow-profile", "workflow/profiles/slurm", "--slurm-status-command", "squeue"),
            *("--default-resources", "mem_mb=1500", "runtime=20", "slurm_partition=main", "slurm_account=test"),
            *("--latency-wait", "10", *SMALL, *arguments),
        ]
        environment = {name: value for name, value in os.environ.items() if name != "ATLAS_DATA"} | self.environment
        return subprocess.Popen(
            command,
            cwd=workspace.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=listen_to_interrupts,
        )

    def run(self, workspace: Workspace, *arguments: str, check: bool = True) -> str:
        """Run Snakemake to its end and return what it says; SIGINT after LIMIT seconds."""
        process = self.start(workspace, *arguments)
        try:
            output, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate()
            pytest.fail(f"not done after {LIMIT} s: {output[-3000:]}")
        assert not check or process.returncode == 0, output[-6000:]
        return output


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A Slurm of two nodes, ended with the session."""
    if not STARTER.is_file():
        pytest.skip(f"there is no script to start Slurm with at {STARTER}; LOCAL_SLURM names one")
    where = os.environ["PATH"] + ":/usr/sbin:/sbin"
    if absent := [program for program in PROGRAMS if shutil.which(program, path=where) is None]:
        pytest.skip(f"Slurm is not installed ({', '.join(absent)}): install slurmctld, slurmd, slurm-client and munge")
    folder = Path(tempfile.mkdtemp(prefix="atlas-slurm-"))
    sizes = ["-n", str(NODES), "-c", str(PROCESSORS), "-m", str(MEGABYTES)]
    start = [str(STARTER), "start", "-d", str(folder / "s"), *sizes]
    try:
        done = subprocess.run(start, check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"Slurm does not start here: {done.stderr.strip()[-500:]}")
        exported = dict(re.findall(r"^export (\w+)=(.*)$", done.stdout, re.M))
        environment = {"SLURM_CONF": exported["SLURM_CONF"], "PATH": f"{folder / 's' / 'bin'}:{os.environ['PATH']}"}
        yield Cluster(folder / "s", environment)
    finally:
        subprocess.run([str(STARTER), "stop", "-d", str(folder / "s")], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A copy of the workflow with a small sample run."""
    return small_run(tmp_path)
