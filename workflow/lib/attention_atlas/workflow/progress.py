"""One line of progress on the terminal in place of Snakemake's log, whose complete file is named at the end.

A logger plugin would have to be installed before Snakemake reads its command line; this handler takes the place of the
stream handler once the Snakefile is read, so that every way to start the workflow shows the same. If a logger plugin
(`--logger`), `--verbose`, `--quiet` or `--dry-run` is used, or `ATLAS_PROGRESS=off` is set, Snakemake's output is unchanged.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_atlas.workflow.cost_model import read_coefficients, seconds, workload
from attention_atlas.workflow.job import JOBS_LOG_TO_FILE
from attention_atlas.workflow.job_progress import JobProgress, duration
from attention_atlas.workflow.lookups import Config

VARIABLE = "ATLAS_PROGRESS"
"""`off`: Snakemake's whole log on the terminal."""
SHOWN = {"shown": True}
"""`extra` of a message that is shown on the terminal although it is not a warning."""
LOG_LINES = 15
"""Last lines of a failed job's log that are shown."""
_STEP = 0.05
"""Share of the jobs between two lines, without a terminal."""
_STREAM_HANDLER = "DefaultStreamHandler"
_PREAMBLE = ("Building DAG of jobs", "Using shell", "Conda environments: ignored", "Group jobs: inactive", "host:")
_ALWAYS = ("Complete log", "Will exit after", "Shutting down", "Terminating processes", "Trying to restart job")
_NOTHING_TO_DO = "Nothing to be done"
_LOGGED_ONLY = ("workflow_started", "resources_info", "job_started", "group_info", "progress", "shellcmd", "rulegraph")


class ProgressHandler(logging.Handler):
    """Shows the progress of jobs, warnings, errors and failed jobs with the end of their log.

    On a terminal one line is kept up to date; elsewhere a line is written after every 5 % of the jobs.

    Args:
        default: Snakemake's terminal handler, whose stream and format are used.
        progress: progress of the jobs.
        nothing_to_do: text to add to Snakemake's message that all files are up to date.
    """

    def __init__(self, default: logging.StreamHandler[Any], progress: JobProgress, nothing_to_do: Callable[[], str]):
        from rich.console import Console

        super().__init__()
        self.progress = progress
        self._default = default
        self._nothing_to_do = nothing_to_do
        self._console = Console(file=default.stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._has_line = self._console.is_terminal and not self._console.is_dumb_terminal
        self._line: Any = None
        self._logs: dict[int, list[str]] = {}
        self._is_running = False
        self._next = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Show a log record, or update the progress from it."""
        try:
            self._emit(record)
        except BrokenPipeError:
            raise
        except Exception:
            self.handleError(record)

    def expect(self, workflow: Any, config: Config) -> None:
        """Estimate the time of the pending jobs, before the first one starts.

        Args:
            workflow: Snakemake's workflow object.
            config: the resolved configuration.
        """
        self.progress.processors = workflow.cores if workflow.local_exec else None
        self.progress.expect(expected_seconds(config, workflow.dag))
        if workflow.local_exec:
            # Not on a cluster: a job's standard error is in the log of the scheduler.
            os.environ[JOBS_LOG_TO_FILE] = "1"

    def finish(self) -> None:
        """Remove the progress line: no more jobs start."""
        if self._line is not None:
            self._line.stop()
            self._line = None
        self._is_running = False

    def close(self) -> None:
        """End of the workflow, or of a command that runs no jobs."""
        self.finish()
        self._default.close()
        super().close()

    def _emit(self, record: logging.LogRecord) -> None:
        event = str(getattr(record, "event", None) or "")
        react = {
            "run_info": self._begin,
            "job_info": self._start,
            "job_finished": self._finished,
            "job_error": self._failed,
        }.get(event)
        if react is not None:
            react(record)
        elif event not in _LOGGED_ONLY and self._is_shown(record):
            self._show(self._default.format(record), record.levelno)
            if record.getMessage().startswith(_NOTHING_TO_DO):
                self._show(self._nothing_to_do())

    def _is_shown(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if record.levelno >= logging.WARNING:
            # The failed job is shown with its log; this record only names the line of a rules file.
            return "CalledProcessError in file" not in text
        return (
            getattr(record, "shown", False) or text.startswith(_ALWAYS) or not (self._is_running or text.startswith(_PREAMBLE))
        )

    def _begin(self, record: logging.LogRecord) -> None:
        self.progress.begin(int(getattr(record, "stats", {}).get("total", 0)))
        self._is_running = True
        if self._has_line:
            self._line = progress_line(self._console, self.progress)
            self._line.start()

    def _start(self, record: logging.LogRecord) -> None:
        fields = record.__dict__
        job = fields["jobid"]
        self._logs[job] = list(fields.get("log") or [])
        self.progress.start(job, job_name(fields["rule_name"], fields.get("wildcards") or {}))

    def _finished(self, record: logging.LogRecord) -> None:
        job = record.__dict__["job_id"]
        self.progress.finish(job)
        for warning in warnings_in(self._logs.get(job, [])):
            self._show(warning, logging.WARNING)
        if not self._has_line and (self.progress.fraction >= self._next or self.progress.fraction == 1):
            self._next = self.progress.fraction + _STEP
            self._show(plain_line(self.progress))

    def _failed(self, record: logging.LogRecord) -> None:
        fields = record.__dict__
        self.progress.fail(fields["jobid"])
        name = self.progress.failed[fields["jobid"]]
        lines = [f"Failed: {name}"]
        reasons = [fields.get("rule_msg"), *(f"{key}: {value}" for key, value in (fields.get("aux") or {}).items())]
        lines += [f"  {reason}" for reason in reasons if reason]
        for log in fields.get("log") or []:
            lines += [f"  log: {log}", *(f"    {line}" for line in last_lines(log))]
        self._show("\n".join(lines), logging.ERROR)

    def _show(self, text: str, level: int = logging.INFO) -> None:
        if not text or text == "None":
            return
        style = "red" if level >= logging.ERROR else "yellow" if level >= logging.WARNING else None
        self._console.print(text, style=style)


def progress_line(console: Any, progress: JobProgress) -> Any:
    """One line with a bar, jobs done, the running job and the time left, updated twice a second."""
    from rich.progress import BarColumn, Progress, ProgressColumn, Task
    from rich.table import Column
    from rich.text import Text

    class Numbers(ProgressColumn):
        def render(self, task: Task) -> Text:
            task.completed, task.total = len(progress.done), progress.total
            return Text(f"{len(progress.done)} of {progress.total} jobs{_failures(progress)}")

    class Running(ProgressColumn):
        max_refresh = None

        def render(self, task: Task) -> Text:
            return Text(progress.running, style="cyan", no_wrap=True, overflow="ellipsis")

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(_time_left(progress))

    line = Progress(
        Numbers(Column(no_wrap=True)),
        BarColumn(bar_width=24),
        Running(Column(no_wrap=True, ratio=1)),
        TimeLeft(Column(no_wrap=True, justify="right")),
        console=console,
        refresh_per_second=2,
        expand=True,
        transient=True,
    )
    line.add_task("", total=progress.total or None)
    return line


def plain_line(progress: JobProgress) -> str:
    """The same as text, for a file."""
    parts = [f"{len(progress.done)} of {progress.total} jobs{_failures(progress)}", f"{duration(progress.elapsed)} so far"]
    if progress.fraction < 1:
        parts += [_time_left(progress), progress.running]
    return f"{100 * progress.fraction:3.0f} %  " + ", ".join(filter(None, parts))


def _time_left(progress: JobProgress) -> str:
    left = progress.seconds_left()
    return "" if left is None else f"about {duration(left)} left"


def _failures(progress: JobProgress) -> str:
    return f", {len(progress.failed)} failed" if progress.failed else ""


def job_name(rule: str, wildcards: Mapping[str, Any]) -> str:
    """Rule and wildcards of a job, without the run."""
    shown = ", ".join(f"{key}={value}" for key, value in wildcards.items() if key != "run")
    return f"{rule} ({shown})" if shown else rule


def last_lines(path: str | Path, count: int = LOG_LINES) -> list[str]:
    """The last lines of a log; if there are none, a line that says so."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ["(the job ended before it wrote a log)"]
    return lines[-count:] or ["(the log is empty: the job was killed)"]


def warnings_in(logs: Iterable[str]) -> list[str]:
    """Lines of jobs' logs that are warnings."""
    warnings = []
    for log in logs:
        if Path(log).is_file():
            lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()
            warnings += [f"{log}: {line.partition(' WARNING ')[2]}" for line in lines if " WARNING " in line]
    return warnings


def show_progress(workflow: Any, nothing_to_do: Callable[[], str]) -> ProgressHandler | None:
    """Make Snakemake show the progress of its jobs; None if its output is left unchanged.

    Args:
        workflow: Snakemake's workflow object.
        nothing_to_do: see `ProgressHandler`.
    """
    manager, settings = workflow.logger_manager, workflow.output_settings
    is_asked_otherwise = settings.dryrun or settings.quiet or settings.verbose or settings.debug_dag
    default = next((handler for handler in manager.logger.handlers if handler.name == _STREAM_HANDLER), None)
    if os.environ.get(VARIABLE) == "off" or is_asked_otherwise or not workflow.is_main_process or default is None:
        return None
    handler = ProgressHandler(default, JobProgress(), nothing_to_do)
    handler.setLevel(default.level)
    manager.logger.removeHandler(default)
    manager.logger.addHandler(handler)
    return handler


def expected_seconds(config: Config, dag: Any) -> dict[int, float]:
    """Job id -> processor seconds that the cost model expects, for the pending jobs of Snakemake's graph."""
    coefficients = read_coefficients()
    return {
        dag.jobid(job): job.threads
        * seconds(coefficients, job.rule.name, workload(config, job.rule.name, dict(job.wildcards.items())), job.threads)
        for job in dag.needrun_jobs()
        if job.wildcards
    }
