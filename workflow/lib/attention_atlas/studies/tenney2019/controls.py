"""Controls: the page of the scores of each task on layer 0 and on all layers, with controls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.claims import NONE_STOPPED, stopped_early
from attention_atlas.studies.tenney2019.summary import CONTROLS, STEP_LIMITS


def controls_page(path: str | Path, labels: Mapping[str, RunLabel], html_out: str | Path) -> None:
    """Write the page.

    Args:
        path: table `CONTROLS` of `summary`.
        labels: task -> run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, CONTROLS)
    write_html_table(
        table.assign(task=table["task"].map(EDGE_TASKS)),
        html_out,
        "Tenney et al. 2019: scores of probes on the input of the first layer, and on all layers, with controls (not a table "
        "of the paper)",
        [
            *joint_lines(labels.values()),
            "F1 over targets and labels in percent, mean over seeds, 95 % interval by bootstrap over seeds and documents, or "
            "sentences where the corpus does not name its documents (unit). "
            "Random encoder: the same probes on a model whose layers have random weights; above: difference in F1 from "
            "those probes. They are not compared on layer 0: that model has the words and positions of the trained model, but "
            "untrained segment embeddings and layer normalisation, so that its layer 0 is another input. "
            "Control task: every word type has one random label (Hewitt & Liang 2019), so that a probe can "
            "memorise labels but learns nothing about the task; selectivity: difference in F1 from the control task. "
            "Shuffled labels: trained on labels shuffled among all training targets, so that only label frequencies can be "
            "learned, and evaluated on the true labels; where no label has a probability of one half, such probes give no "
            "label and have an F1 of 0. They are trained for the first seed only; the interval uses the spread over seeds "
            "of the probes that they are compared with. Constant answer: the labels that have the highest F1 if every "
            "evaluated target gets them. Above label frequencies: difference in F1 from the better of these two. "
            "At the step limit: share of probes (over seeds) that trained to the largest number of steps, since early stopping "
            "did not end them before; best at the step limit: of those whose last evaluation was the best, so that F1 was "
            "still rising. More steps could raise the F1 of either.",
            *([] if stopped_early(table) else [f"Equal steps: {NONE_STOPPED}."]),
        ],
        {
            "f1_random_encoder": "F1, random encoder",
            "above_random_encoder": "Above random encoder",
            "f1_control_task": "F1, control task",
            "f1_shuffled_labels": "F1, shuffled labels",
            "seeds_shuffled_labels": "Seeds, shuffled labels",
            "f1_constant_answer": "F1, constant answer",
            "labels_constant_answer": "Labels, constant answer",
            "above_label_frequencies": "Above label frequencies",
            "at_step_limit": "At the step limit",
            "best_at_step_limit": "Best at the step limit",
            "f1_equal_steps": "F1, equal steps",
        },
        {name: ".1f" for name in CONTROLS if name.startswith(("f1", "selectivity", "above"))}
        | {"seeds_shuffled_labels": "d", "steps": ".0f", "equal_steps": ".0f"}
        | dict.fromkeys(STEP_LIMITS, ".0%"),
    )
