"""What tools ask Snakemake about a run: options that are passed on, and the reason where it cannot be planned."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve
from tools import to_do
from tools.check import with_files
from tools.to_do import ROOT, configuration_of, jobs_to_do, reason_in


def planned(monkeypatch, returncode=0, stdout="", stderr=""):
    """Commands that are started, in place of Snakemake."""
    commands = []

    def run(command, **_):
        commands.append(command)
        return SimpleNamespace(returncode=returncode, stdout=stdout, stderr=stderr)

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_entries_of_the_users_configuration_stay_beside_the_target(monkeypatch, tmp_path):
    commands = planned(monkeypatch)
    options = ["--configfile", "mine.yaml", "--config", "missing=skip", "targets=[other]", "--rerun-triggers", "mtime"]
    assert jobs_to_do("mine", tmp_path, options, ["results/mine/a.tsv"]) == []
    command = commands[0]
    assert command.count("--config") == 1
    place = command.index("--config")
    assert command[place:] == ["--config", "targets=[mine]", "missing=skip", "--", "results/mine/a.tsv"]
    assert command[place - 4 : place] == ["--configfile", "mine.yaml", "--rerun-triggers", "mtime"]


def test_the_configuration_has_the_entries_of_the_command_line():
    options = ["--config", "missing=skip", "accept_licences=[CC BY-NC-ND 4.0]", "--quiet"]
    config = configuration_of(ROOT, [], options)
    assert (config["missing"], config["accept_licences"]) == ("skip", ["CC BY-NC-ND 4.0"])
    assert configuration_of(ROOT, [])["missing"] == "error"
    with pytest.raises(AtlasError, match=r"--config targets=\[one: the value is not YAML"):
        configuration_of(ROOT, [], ["--config", "targets=[one"])


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (
            'Config file config.yaml is extended.\nWorkflowError in file "/x/Snakefile", line 54:\n'
            "config: targets: there is no run "
            "'nosuch'.\n  File \"/x/Snakefile\", line 54, in <module>\nUsing workflow specific profile local.\n",
            "config: targets: there is no run 'nosuch'.",
        ),
        (
            'Building DAG of jobs...\nInputFunctionException in rule all in file "/x/Snakefile", line 108:\nError:\n'
            "  AtlasError: These are missing:\n- corpus a\n- corpus b\nWildcards:\n\nTraceback:\n  File x\nUsing profile.\n",
            "These are missing:\n- corpus a\n- corpus b",
        ),
        ("one line\nlast line\n", "last line"),
        ("", "no output"),
    ],
)
def test_the_reason_is_the_message_of_the_exception(monkeypatch, tmp_path, shown, reason):
    assert reason_in(shown) == reason
    planned(monkeypatch, 1, shown)
    with pytest.raises(AtlasError) as caught:
        jobs_to_do("mine", tmp_path)
    assert str(caught.value) == f"the run mine cannot be planned: {reason}"


def test_a_long_reason_is_cut():
    lines = reason_in("AtlasException in rule all in file x:\n" + "\n".join(f"- corpus {k}" for k in range(40))).splitlines()
    assert lines[-1] == f"... and {40 - to_do._MOST_LINES} more lines"
    assert len(lines) == to_do._MOST_LINES + 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read (No such file or directory)"),
        ("a: [1\n", "is not YAML ("),
        ("- a\n", "has keys and values, but this one has a list"),
    ],
)
def test_a_configuration_file_that_cannot_be_used_is_named(tmp_path, content, sentence):
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(AtlasError) as caught:
        configuration_of(ROOT, [path])
    assert str(caught.value).startswith(f"{path}: ")
    assert sentence in str(caught.value)


def test_an_empty_configuration_file_changes_nothing(tmp_path):
    (tmp_path / "mine.yaml").write_text("# nothing yet\n", encoding="utf-8")
    assert configuration_of(ROOT, [tmp_path / "mine.yaml"]) == configuration_of(ROOT, [])


def test_the_tokenizer_of_a_trained_model_is_that_of_its_base():
    models = resolve(configuration_of(ROOT, []))["models"]
    assert with_files("minilm-squad", models)["source"] == models["minilm"]["source"]
    with pytest.raises(AtlasError, match="marian-sample: only a run makes its tokenizer"):
        with_files("marian-sample", models)
