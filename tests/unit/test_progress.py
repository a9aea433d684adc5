"""Progress of a run: jobs, time left and failures, on a terminal and in a file."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attention_atlas.workflow.job_progress import JobProgress, duration
from attention_atlas.workflow.progress import job_name, last_lines, warnings_in

LIBRARY = Path(__file__).resolve().parents[2] / "workflow" / "lib"
SNAKEFILE = f"""
import sys
sys.path.insert(0, {str(LIBRARY)!r})
from attention_atlas.workflow.progress import SHOWN, show_progress
progress = show_progress(workflow, lambda: "look at out.html")
JOBS = range(40)

rule all:
    input:
        expand("out/{{n}}", n=JOBS),

rule small:
    output:
        "out/{{n}}",
    log:
        "logs/{{n}}.log",
    shell:
        "echo 'a WARNING 2 records were dropped' > {{log}}; sleep $PAUSE; touch {{output}}"

rule broken:
    output:
        "broken",
    log:
        "logs/broken.log",
    shell:
        "(seq 40; echo 'the file is empty') > {{log}}; exit 3"

onstart:
    logger.info("a forecast", extra=SHOWN)
"""


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_time_left_is_the_expected_time_before_any_job_has_ended(clock):
    progress = JobProgress(2, clock)
    progress.begin(5)
    assert progress.seconds_left() is None
    progress.expect({1: 30.0, 2: 30.0, 3: 60.0, 4: 60.0})
    assert progress.seconds_left() == pytest.approx(90)
    progress.start(1, "a")
    clock.now += 10
    assert progress.seconds_left() == pytest.approx((20 + 150) / 2)


def test_time_left_follows_the_pace_of_finished_jobs(clock):
    progress = JobProgress(1, clock)
    progress.begin(3)
    progress.expect({1: 6000.0, 2: 6000.0, 3: 6000.0})
    progress.start(1, "a")
    clock.now += 12000
    progress.finish(1)
    assert progress.seconds_left() == pytest.approx(24000, rel=0.02)
    progress.start(2, "b")
    clock.now += 11000
    progress.start(3, "c")
    assert progress.running == "b +1"
    # Longer than expected: it is not called done.
    clock.now += 9000
    assert progress.seconds_left() > 0


def test_time_left_is_never_less_than_the_longest_running_job(clock):
    progress = JobProgress(8, clock)
    progress.begin(2)
    progress.expect({1: 100.0, 2: 8.0})
    progress.start(1, "long")
    assert progress.seconds_left() == pytest.approx(100)


def test_time_left_without_expected_times_is_that_of_the_mean_job(clock):
    progress = JobProgress(1, clock)
    progress.begin(4)
    progress.start(1, "a")
    clock.now += 10
    progress.finish(1)
    assert progress.seconds_left() == pytest.approx(30)


def test_a_failed_job_is_counted_and_no_longer_waited_for(clock):
    progress = JobProgress(1, clock)
    progress.begin(2)
    progress.expect({1: 10.0, 2: 20.0})
    progress.start(1, "a")
    progress.fail(1)
    assert (progress.failed, progress.running) == ({1: "a"}, "")
    assert progress.seconds_left() == pytest.approx(20)
    progress.start(1, "a")
    assert not progress.failed, "started again"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "5 s"), (42, "40 s"), (89, "90 s"), (119, "2 min"), (3590, "1 h 00 min"), (9000, "2 h 30 min")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_names_of_jobs_leave_out_the_run():
    assert job_name("fit", {"run": "sample", "model": "minilm", "seed": "1"}) == "fit (model=minilm, seed=1)"
    assert job_name("fit", {"run": "sample"}) == "fit"


def test_logs_of_jobs(tmp_path):
    log = tmp_path / "job.log"
    assert last_lines(log) == ["(the job ended before it wrote a log)"]
    log.write_text("")
    assert "the job was killed" in last_lines(log)[0]
    log.write_text("2026-01-01 10:00:00 WARNING two records were dropped\n" + "line\n" * 30)
    assert last_lines(log, 3) == ["line"] * 3
    assert warnings_in([str(log), str(tmp_path / "none")]) == [f"{log}: two records were dropped"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    return tmp_path


def command(*arguments):
    return [sys.executable, "-m", "snakemake", "--cores", "4", "--scheduler", "greedy", *arguments]


def environment(**variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ATLAS_", "SNAKEMAKE_"))}
    return clean | {"PAUSE": "0", "TERM": "xterm", "COLUMNS": "100"} | variables


def run(folder, *arguments, **variables):
    done = subprocess.run(
        command(*arguments), cwd=folder, env=environment(**variables), capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_in_a_file_there_are_few_lines_and_the_log_is_named(folder):
    status, shown = run(folder)
    assert status == 0, shown
    lines = shown.splitlines()
    assert "a forecast" in lines
    steps = [line for line in lines if re.match(r"\s*\d+ %  \d+ of 41 jobs", line)]
    assert 10 <= len(steps) <= 21
    assert steps[-1].startswith("100 %  41 of 41 jobs")
    assert "logs/7.log: 2 records were dropped" in lines, "warnings of jobs are shown"
    assert len(lines) - len(steps) - 40 < 8
    log = Path(re.search(r"Complete log\(s\): (\S+)", shown)[1])
    assert log.read_text().count("rule small:") == 40

    status, shown = run(folder)
    assert status == 0
    assert "Nothing to be done" in shown
    assert "look at out.html" in shown


def test_failed_jobs_are_shown_with_the_end_of_their_log(folder):
    status, shown = run(folder, "--keep-going", "broken", "out/1", PAUSE="1")
    assert status == 1
    assert "Failed: broken\n  log: logs/broken.log\n" in shown
    assert "    the file is empty" in shown
    assert "    40\n" in shown
    assert "    20\n" not in shown, "the last lines alone"
    assert "CalledProcessError" not in shown
    assert "1 failed" in shown


def test_dry_runs_and_a_request_leave_the_output_of_snakemake(folder):
    assert "Job stats:" in run(folder, "--dry-run")[1]
    assert run(folder, "out/1", ATLAS_PROGRESS="off")[1].count("rule small:") == 1


def on_terminal(folder, *arguments, interrupt=False, **variables):
    """Status, and what a terminal receives."""
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment(**variables),
        stdin=writer,
        stdout=writer,
        stderr=writer,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(writer)
    received = b""
    while True:
        try:
            data = os.read(reader, 65536)
        except OSError:
            break
        received += data
        if interrupt and b" of 41 jobs" in received:
            interrupt = False
            time.sleep(0.5)
            os.killpg(process.pid, signal.SIGINT)
    os.close(reader)
    return process.wait(60), received.decode()


def test_on_a_terminal_one_line_is_kept_up_to_date(folder):
    status, shown = on_terminal(folder, PAUSE="0.2")
    assert status == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    drawn = [line for line in re.split(r"[\r\n]+", plain) if re.match(r"\d+ of 41 jobs", line)]
    assert any("small (n=" in line and " left" in line for line in drawn)
    assert all(len(line) <= 100 for line in drawn)
    assert "\x1b[2K" in shown, "the line is drawn over"
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is back"


def test_an_interrupt_ends_the_line_and_gives_the_cursor_back(folder):
    status, shown = on_terminal(folder, interrupt=True, PAUSE="1")
    assert status != 0
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert "Traceback" not in shown
