"""What surrounds every job: its log, how it ends, and how far a long loop is."""

import logging
import re

import pytest

from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.workflow.job import job
from attention_atlas.workflow.unfinished import rerun_unfinished_jobs, was_stopped


def lines(rule) -> list[str]:
    """The log without its times."""
    return [
        line.split(" ", 2)[2] if line[:2] == "20" else line for line in rule.log[0].read_text(encoding="utf-8").splitlines()
    ]


def test_a_job_that_ends_well_says_so(rule, capsys):
    before = list(logging.getLogger().handlers)
    for attempt in ("first", "second"):
        with job(rule) as log:
            log.info("%s: é", attempt)
            logging.getLogger("attention_atlas.somewhere").warning("7 records dropped")
            logging.getLogger("urllib3").info("chatter")
    first, *following = lines(rule)
    assert re.fullmatch(r"INFO rule some_rule on Python 3\..*, 3 threads", first)
    assert following == ["INFO second: é", "WARNING 7 records dropped", "INFO done"]
    assert capsys.readouterr().err.count("WARNING 7 records dropped") == 2
    assert logging.getLogger().handlers == before
    assert not was_stopped(rule.log[0])


def test_a_users_mistake_is_one_line_and_status_1_and_a_damaged_file_is_renamed(rule, capsys, tmp_path):
    with pytest.raises(SystemExit) as caught, job(rule):
        raise AtlasError("file.txt:3: it is wrong.")
    assert caught.value.code == 1
    assert lines(rule)[1:] == ["ERROR file.txt:3: it is wrong."]
    assert "Traceback" not in capsys.readouterr().err
    (tmp_path / "shard").write_text("cut off")
    for _ in range(2):  # another job may have renamed it already
        with pytest.raises(SystemExit), job(rule):
            raise DamagedFile(tmp_path / "shard", "cut off")
        assert (tmp_path / "shard.damaged").read_text() == "cut off"
        assert not (tmp_path / "shard").exists()


def test_a_fault_of_the_program_keeps_its_traceback(rule):
    with pytest.raises(SystemExit), job(rule):
        1 / 0  # noqa: B018
    log = lines(rule)
    assert log[1] == "ERROR rule some_rule failed"
    assert log[2].startswith("Traceback")
    assert log[-1] == "ZeroDivisionError: division by zero"
    assert was_stopped(rule.log[0])
    rule.log[0].write_text("the log of another program\n")
    assert not was_stopped(rule.log[0])
    assert not was_stopped(rule.log[0].with_name("none.log"))


def test_snakemake_is_patched_once(monkeypatch):
    import snakemake.api  # noqa: F401  # before snakemake.dag, which cannot be imported first
    from snakemake.dag import DAG

    monkeypatch.setattr(DAG, "incomplete_files", DAG.incomplete_files)
    rerun_unfinished_jobs()
    patched = DAG.incomplete_files
    rerun_unfinished_jobs()
    assert DAG.incomplete_files is patched
    assert patched.__module__ == rerun_unfinished_jobs.__module__, "this version of Snakemake is known"


async def with_another_parameter(self, targets):
    return []


@pytest.mark.parametrize("other", [None, with_another_parameter, lambda self: []], ids=["renamed", "signature", "synchronous"])
def test_another_snakemake_stays_as_it_is_with_one_warning(monkeypatch, caplog, other):
    import snakemake.api  # noqa: F401
    from snakemake.dag import DAG

    monkeypatch.setattr(DAG, "incomplete_files", other)
    if other is None:
        monkeypatch.delattr(DAG, "incomplete_files")
    rerun_unfinished_jobs()
    assert getattr(DAG, "incomplete_files", None) is other
    assert [record.levelname for record in caplog.records] == ["WARNING"]
