"""How the sample run grows: a quarter, a half and all of its examples, every job's seconds, a figure.

python -m benchmarks.sweep FOLDER    build the runs below FOLDER (half an hour), write benchmarks/sweep.tsv and sweep.png
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

from attention_atlas.figures.style import BLUE, ORANGE, VERMILION, use_style  # noqa: E402
from attention_atlas.workflow.config import read_configuration  # noqa: E402
from tools.plan import measured_seconds, planned_jobs  # noqa: E402

SHARES = (0.25, 0.5, 1.0)
PARTS = ("Snakefile", "config.yaml", "config", "workflow", "envs")
LEAST = 8
"""No corpus gets smaller than this: halves and folds of fewer examples are empty."""
# What is drawn: the rules that take most of the time.
DRAWN = (
    {
        "extract_attention": "attention maps of all corpora",
        "cache_hidden_states": "hidden states (Tenney et al.)",
        "fine_tune": "fine-tuning",
        "mlm_head": "masked-LM head",
        "clark2019_probes": "probes (Clark et al.)",
    },
    {
        "guan2020_ablations": "heads of a type removed (Guan et al.)",
        "kovaleva2019_disabled": "each head disabled (Kovaleva et al.)",
        "michel2019_masked": "each head masked (Michel et al.)",
        "tenney2019_probes": "edge probes (Tenney et al.)",
        "stefanik2021_removal": "each head removed (Štefánik)",
    },
)


def overlay(share: float) -> dict[str, Any]:
    """The sample run with a share of its documents, examples and steps of training, in one shard per corpus."""
    config = read_configuration(ROOT)

    def part(amount: int, least: int = LEAST) -> int:
        return max(min(amount, least), round(amount * share))

    corpora = {
        name: {"limit": part(entry["limit"]), "shard": part(entry["limit"])}
        for name, entry in config["corpora"].items()
        if name.startswith("sample-")
    }
    run = config["runs"]["sample"]
    steps = {name: part(run["tenney2019"]["training"][name]) for name in ("max_steps", "equal_steps", "evaluation_interval")}
    return {
        # Jobs of a cluster start alone, which the cost model has to know.
        "preload": False,
        "sample": {key: part(config["sample"][key]) for key in ("documents", "train_documents")},
        "corpora": corpora,
        "models": {"minilm": {"mlm_head": {"steps": part(config["models"]["minilm"]["mlm_head"]["steps"])}}},
        "runs": {
            "sample": {
                "clark2019": {"min_count": part(run["clark2019"]["min_count"], 1)},
                "kovaleva2019": {"ablated_records": part(run["kovaleva2019"]["ablated_records"], 3)},
                "michel2019": {
                    "importance": {"records": part(run["michel2019"]["importance"]["records"])},
                    "speed": {"records": part(run["michel2019"]["speed"]["records"])},
                },
                "tenney2019": {"training": steps},
            }
        },
    }


def build(folder: Path, share: float) -> None:
    """Build the sample run with a share of its examples in a separate folder."""
    folder.mkdir(parents=True)
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    (folder / "sweep.yaml").write_text(yaml.safe_dump(overlay(share)), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", "workflow/profiles/local", "--cores", "2"]
    command += ["--configfile", "config.yaml", "sweep.yaml"]
    with (folder / "log").open("w", encoding="utf-8") as log:
        subprocess.run(command, cwd=folder, check=True, stdout=log, stderr=subprocess.STDOUT)


def collect(folder: Path, share: float) -> pd.DataFrame:
    """share, rule, job, seconds of all jobs of a built run."""
    jobs = planned_jobs("sample", read_configuration(folder, [folder / "sweep.yaml"]))
    base = "results/sample/benchmarks/"
    rows = [
        {
            "share": share,
            "rule": job.rule,
            "job": job.benchmark.removeprefix(base).removesuffix(".tsv"),
            "seconds": measured_seconds(folder / job.benchmark),
        }
        for job in sorted(jobs, key=lambda job: job.benchmark)
    ]
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, path: Path) -> None:
    """Seconds of each of the heavier steps against the share of examples, with the straight line through them."""
    use_style()
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 5.0), constrained_layout=True)
    for axes, rules, name in zip(panels, DRAWN, ("models and caches, Clark et al.", "the other studies"), strict=True):
        styles = zip(rules.items(), [BLUE, VERMILION, ORANGE] * 2, "os^Dv", ["-"] * 3 + ["--"] * 2, strict=False)
        for (rule, title), colour, marker, line in styles:
            totals = table[table["rule"] == rule].groupby("share")["seconds"].sum()
            slope, start = np.polyfit(totals.index, totals, 1)
            shares = np.asarray([0.0, 1.0])
            axes.plot(100 * totals.index, totals, marker, color=colour)
            axes.plot(100 * shares, start + slope * shares, line, color=colour, linewidth=1)
            axes.plot([], [], f"{line}{marker}", color=colour, linewidth=1, label=f"{title}: {start:.0f} s + {slope:.0f} s")
        axes.set(xlabel="share of the sample run's examples, %", ylabel="seconds of all jobs of the step", title=name)
        axes.set(xlim=(0, 105), ylim=(0, None))
        heading = "straight line: start of the jobs + work on all examples"
        axes.legend(title=heading, loc="upper center", bbox_to_anchor=(0.5, -0.15), fontsize=8, title_fontsize=8)
    figure.savefig(path, dpi=150)


def main(folder: Path) -> None:
    """Build, collect, draw."""
    tables = []
    for share in SHARES:
        where = folder / f"{share:g}"
        if not (where / "results").is_dir():
            build(where, share)
        tables.append(collect(where, share))
    table = pd.concat(tables, ignore_index=True)
    table.to_csv(ROOT / "benchmarks/sweep.tsv", sep="\t", index=False, float_format="%.4g", lineterminator="\n")
    draw(table, ROOT / "benchmarks/sweep.png")
    print(table.groupby("share")["seconds"].sum().to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
