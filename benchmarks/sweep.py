"""How the sample run grows: a quarter, a half and all of its examples, every job's seconds, a figure.

python -m benchmarks.sweep FOLDER    build the runs below FOLDER (ten minutes), write benchmarks/sweep.tsv and sweep.png
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

from attention_atlas.figures.style import BLUE, ORANGE, VERMILION, use_style  # noqa: E402

SHARES = (0.25, 0.5, 1.0)
PARTS = ("Snakefile", "config.yaml", "workflow", "envs")
# What is drawn: the rules that take most of the time, and the corpus whose records they count.
DRAWN = {
    "extract_attention": "attention maps of all corpora",
    "mlm_head": "head for hidden pieces",
    "clark2019_gradients": "gradients (Figure 3)",
    "clark2019_probes": "probes (Table 3)",
    "clark2019_coreference": "coreference (Table 2)",
    "clark2019_dependencies": "dependencies (Table 1)",
}


def overlay(share: float) -> dict[str, object]:
    """The sample run with a share of its documents and examples, in one shard a corpus."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    corpora = {}
    for name, entry in config["corpora"].items():
        if name.startswith("sample-"):
            size = int(min(entry["limit"], entry["shard"]) * share)
            corpora[name] = {"limit": size, "shard": size}
    sample = {key: int(config["sample"][key] * share) for key in ("documents", "train_documents")}
    steps = int(config["models"]["minilm"]["mlm_head"]["steps"] * share)
    return {"sample": sample, "corpora": corpora, "models": {"minilm": {"mlm_head": {"steps": steps}}}}


def build(folder: Path, share: float) -> None:
    """Build the sample run with a share of its examples in a folder of its own."""
    folder.mkdir(parents=True)
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    (folder / "sweep.yaml").write_text(yaml.safe_dump(overlay(share)), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", "workflow/profiles/local", "--cores", "2"]
    command += ["--configfile", "config.yaml", "sweep.yaml"]
    with (folder / "log").open("w", encoding="utf-8") as log:
        subprocess.run(
            [*command, "--configfile", "config.yaml", "sweep.yaml"],
            cwd=folder,
            check=True,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def collect(folder: Path, share: float) -> pd.DataFrame:
    """share, rule, job, seconds, megabytes of all jobs of a built run."""
    rows = []
    base = folder / "results/sample/benchmarks"
    for path in sorted(base.rglob("*.tsv")):
        job = str(path.relative_to(base).with_suffix(""))
        rule = re.sub(r"^clark2019/(?:variants/[^/]+/)?([^/]+).*", r"clark2019_\1", job).split("/")[0]
        measured = pd.read_csv(path, sep="\t", na_values="-").iloc[0]
        rows.append({"share": share, "rule": rule, "job": job, "seconds": measured["s"], "megabytes": measured["max_rss"]})
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, path: Path) -> None:
    """Seconds of each of the heavier steps against the share of examples, with the straight line through them."""
    use_style()
    figure, axes = plt.subplots(figsize=(6.4, 5.2), constrained_layout=True)
    styles = zip(DRAWN.items(), [BLUE, VERMILION, ORANGE] * 2, "os^Dvx", ["-"] * 3 + ["--"] * 3, strict=True)
    for (rule, name), colour, marker, line in styles:
        totals = table[table["rule"] == rule].groupby("share")["seconds"].sum()
        slope, start = np.polyfit(totals.index, totals, 1)
        ends = np.asarray([0.0, 1.0])
        axes.plot(100 * totals.index, totals, marker, color=colour)
        axes.plot(100 * ends, start + slope * ends, line, color=colour, linewidth=1)
        label = f"{name}: {start:.0f} s + {slope:.0f} s"
        axes.plot([], [], f"{line}{marker}", color=colour, linewidth=1, label=label)
    axes.set(xlabel="share of the sample run's examples, %", ylabel="seconds of all jobs of the step", xlim=(0, 105))
    axes.set_ylim(bottom=0)
    title = "straight line: start of the jobs + work on all examples"
    axes.legend(title=title, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, fontsize=8, title_fontsize=8)
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
