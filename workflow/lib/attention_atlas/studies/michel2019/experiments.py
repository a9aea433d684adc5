"""Jobs with the models: answers with heads masked, derivatives of the loss, and the speed with heads pruned.

Masking gives the same answers as pruning, without a new model at each step.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from transformers import PreTrainedModel

from attention_atlas.attention.batches import model_inputs
from attention_atlas.attention.engine import attention_shape
from attention_atlas.attention.plans import ENCODER_SELF, Plan
from attention_atlas.corpora.alignment import open_tokenizer
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import ALL, ANSWERS, CLASSIFICATION, KEYS, ONE, OTHERS, TRANSLATION
from attention_atlas.methods.importance import GRADIENTS, MEASURES, importance
from attention_atlas.methods.masked_heads import (
    KINDS,
    UNMASKED,
    Experiment,
    Key,
    Step,
    ascending,
    head_gradients,
    masks,
    next_places,
    plan_without,
    random_orders,
    step_answers,
    steps,
)
from attention_atlas.models import task_heads
from attention_atlas.models.card import Card, read_card
from attention_atlas.models.head_weights import prune_heads
from attention_atlas.models.loading import Epochs, load_trained, locate
from attention_atlas.models.marian import TARGET, is_marian, marian_tokenizer
from attention_atlas.stats.significance import mean_interval
from attention_atlas.studies.michel2019 import effects

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
TIMING = [
    *("variant", "batch", "heads", "examples_per_second", "sd", "speedup", "speedup_low", "speedup_high", "spread"),
    *("parameters", "repeats", "n", "unit", "device"),
]
KERNEL = "sdpa"
"""Attention of Table 4: the implementation that `transformers` uses by default, not the one that returns attention weights."""


@dataclass(frozen=True)
class Translation:
    """A translation model; loss: summed over the tokens of the reference, without smoothing."""

    model: PreTrainedModel
    pad: int
    target_tokenizer: Tokenizer
    beams: int
    name: str = TRANSLATION

    def expected(self, examples: Sequence[Example]) -> list[str]:
        if not examples:
            raise AtlasError("there is nothing to translate: use a corpus with reader parallel, and a limit of one or more.")
        return task_heads.references_of(examples)

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        return task_heads.translate_under(self.model, examples, self.pad, self.target_tokenizer, plans, self.beams)

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        tokens = [encoding.ids for encoding in self.target_tokenizer.encode_batch(task_heads.references_of(batch))]
        return task_heads.target_loss(self.model, inputs, tokens)


@dataclass(frozen=True)
class Classification:
    """A model of a task of GLUE; loss: cross-entropy."""

    model: PreTrainedModel
    pad: int
    name: str = CLASSIFICATION

    def expected(self, examples: Sequence[Example]) -> list[str]:
        labels = task_heads.labels_of(examples)
        task_heads.classes_of(self.model, labels)
        return labels

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        names = task_heads.classes_of(self.model, [])
        logits_of_plans = task_heads.logits_under(self.model, examples, plans, self.pad)
        return [task_heads.predicted(logits, names, False) for logits in logits_of_plans]

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        labels = task_heads.labels_of(batch)
        names = task_heads.classes_of(self.model, labels)
        targets = torch.tensor([names.index(label) for label in labels], device=self.model.device)
        return torch.nn.functional.cross_entropy(self.model(**inputs).logits.float(), targets, reduction="sum")


def open_experiment(opened: Mapping[str, Any]) -> Experiment:
    """Load a model for its experiment, in float32 (derivatives by head gates are small); opened: of `StudyInputs.opened`."""
    pad = read_card(opened["card"]).pad or 0
    entry = {**opened["model"], "dtype": "float32"}
    if opened["reader"] == "glue":
        return Classification(task_heads.load_classifier(entry), pad)
    model = load_trained(entry, "translation")
    shape = attention_shape(model)
    if ENCODER_SELF not in shape or len(shape) != len(KINDS):
        raise AtlasError(f"{type(model).__name__} has no encoder and decoder: name a translation model.")
    folder = locate(entry)
    target = marian_tokenizer(folder, TARGET) if is_marian(folder) else open_tokenizer(opened["tokenizer"])
    return Translation(model, pad, target, opened["beams"])


Opened = Annotated[Experiment, open_experiment]
"""An experiment, as a parameter of a function that a job calls; an example without reference or label is an `AtlasError`."""


def masked(
    experiment: Opened, examples: Examples, second_examples: Examples, further_examples: Examples = ()
) -> dict[str, pd.DataFrame]:
    """Answers without a mask and under masks, for every example of up to three corpora: columns `KEYS` and `ANSWERS`.

    All masks on the first corpus, single heads on the second (Figure 2). On the further corpus, which a run may lack, all heads
    of a layer are masked but one: for translation (Table 5, which reports this corpus) the best one on the first corpus, for
    classification (Table 6, which selects heads on it) each in turn.
    """
    plans = masks(attention_shape(experiment.model))
    single_heads, one_left = ({key: plan for key, plan in plans.items() if key[0] == masked} for masked in (ONE, OTHERS))
    answers = _answers(experiment, plans, examples)
    second_answers = _answers(experiment, single_heads, second_examples)
    if experiment.name == TRANSLATION:
        scores = effects.masked_scores(answers, KEYS, TRANSLATION).masking(OTHERS)
        best = scores.keys.loc[effects.best_of_layers(scores), KEYS].itertuples(index=False, name=None)
        one_left = {key: one_left[key] for key in best}
    further_answers = _answers(experiment, one_left, further_examples) if further_examples else answers[:0]
    return {"answers": answers, "second_answers": second_answers, "further_answers": further_answers}


def _answers(experiment: Experiment, plans: Mapping[Key, Plan], examples: Sequence[Example]) -> pd.DataFrame:
    expected = experiment.expected(examples)
    _log.info("%d examples under %d masks", len(examples), len(plans))
    records = [example.record for example in examples]
    answers = zip([UNMASKED, *plans], experiment.answers(examples, [*plans.values()]), strict=True)
    columns = [*KEYS, *ANSWERS]
    frames = [pd.DataFrame(dict(zip(columns, (*key, records, texts, expected), strict=True))) for key, texts in answers]
    return pd.concat(frames, ignore_index=True)


def pruned(
    experiment: Opened,
    examples: Examples,
    scored_examples: Examples,
    answers: pd.DataFrame,
    definition: str,
    batch: int,
    pruning: Mapping[str, Any],
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Derivatives of the loss of each of the `scored_examples` by a gate on each head (`GRADIENTS`), and answers to `examples`
    with more and more heads masked, at all steps of all orders: columns `STEP` and `ANSWERS`.

    answers: of `masked`; seed: of the random orders.
    """
    experiment.expected(scored_examples)
    derivatives = head_gradients(experiment, scored_examples)
    heads, values = derivatives.heads, importance(derivatives, definition, batch)
    pruning_steps: list[Step] = []

    def add(order: str, places: Sequence[int], scope: str = ALL, draw: int = 0, half: int | None = None) -> None:
        counts = _counts(len(places), pruning, experiment.name)
        pruning_steps.extend(Step(order, scope, draw, percent, tuple(places[:count]), half) for percent, count in counts)

    add(effects.IMPORTANCE, ascending(values))
    # Least harmful first.
    single_heads = effects.masked_scores(answers, KEYS, experiment.name).masking(ONE)
    add(effects.ABLATION, ascending(-single_heads.deltas))
    even = np.arange(len(single_heads.base)) % 2 == 0
    for half, selection in ((0, ~even), (1, even)):
        add(effects.HELDOUT, ascending(-single_heads.of_examples(selection).deltas), half=half)
    for draw, places in enumerate(random_orders(len(heads), pruning["random_orders"], seed)):
        add(effects.RANDOM, places, draw=draw)
    masked_places: list[int] = []
    for percent, count in _counts(len(heads), pruning, experiment.name):
        current = values
        if masked_places and len(masked_places) < count < len(heads):
            # Importance without the heads of the steps before.
            plan = plan_without(heads.iloc[masked_places])
            current = importance(head_gradients(experiment, scored_examples, plan), definition, batch)
        masked_places = next_places(current, masked_places, count)
        pruning_steps.append(Step(effects.RECOMPUTED, ALL, 0, percent, tuple(masked_places)))
    kinds = list(map(str, heads["kind"].unique()))
    for kind in kinds if len(kinds) > 1 else ():
        kind_places = np.flatnonzero(heads["kind"] == kind)
        add(effects.IMPORTANCE, kind_places[ascending(values[kind_places])].tolist(), scope=kind)
    gradients = heads.loc[heads.index.repeat(len(scored_examples))].reset_index(drop=True)
    gradients["record"] = np.tile([example.record for example in scored_examples], len(heads))
    gradients = gradients.assign(**{name: getattr(derivatives, name).T.ravel() for name in MEASURES})[GRADIENTS]
    return {"derivatives": gradients, "answers": step_answers(experiment, heads, pruning_steps, examples)}


def dynamics(
    experiment: Opened,
    epochs: Epochs,
    examples: Examples,
    scored_examples: Examples,
    definition: str,
    batch: int,
    pruning: Mapping[str, Any],
) -> pd.DataFrame:
    """Answers of a translation model at all steps of pruning by importance, after each stored epoch of its training.

    Arguments as in `pruned`; importance is computed again after each epoch. Columns epoch, percent, count, and `ANSWERS`.
    """
    columns, frames = ["epoch", "percent", "count", *ANSWERS], []
    for epoch, load in epochs.items():
        _log.info("after epoch %d", epoch)
        load(experiment.model)
        derivatives = head_gradients(experiment, scored_examples)
        places = ascending(importance(derivatives, definition, batch))
        counts = _counts(len(places), pruning, experiment.name)
        pruning_steps = [Step(effects.IMPORTANCE, ALL, 0, percent, tuple(places[:count])) for percent, count in counts]
        frames.append(step_answers(experiment, derivatives.heads, pruning_steps, examples).assign(epoch=epoch)[columns])
    return pd.concat(frames, ignore_index=True)


def _counts(heads: int, pruning: Mapping[str, Any], experiment: str) -> list[tuple[int, int]]:
    step = pruning.get("classification_step", pruning["step"]) if experiment == CLASSIFICATION else pruning["step"]
    return steps(heads, int(step), experiment)


def timing(
    model: Annotated[PreTrainedModel, task_heads.load_classifier],
    card: Card,
    examples: Examples,
    head_importance: pd.DataFrame,
    definition: str,
    speed: Mapping[str, Any],
) -> pd.DataFrame:
    """Examples per second of the full model and of a pruned one, columns `TIMING` (Table 4; spread: of the full model)."""
    batches = [batch for batch in speed["batches"] if batch <= len(examples)]
    if not batches:
        sizes = ", ".join(map(str, speed["batches"]))
        raise AtlasError(f"{len(examples)} examples fill no batch of {sizes}: lower speed.batches, or raise speed.records.")
    in_classifier = (head_importance["task"] == CLASSIFICATION) & (head_importance["definition"] == definition)
    heads = head_importance[in_classifier].reset_index(drop=True)
    count = len(heads) // 2
    pruned_heads = {effects.WHOLE: heads[:0], effects.IMPORTANCE: heads.loc[heads["importance"].nsmallest(count).index]}
    models = {variant: _pruned_model(model, pruned) for variant, pruned in pruned_heads.items()}
    rows: list[dict[str, Any]] = []
    for batch in batches:
        _log.info("batches of %d", batch)
        starts = range(0, len(examples), batch)
        inputs = [model_inputs(models[effects.WHOLE], examples[start : start + batch], card.pad or 0) for start in starts]
        speeds = timed(models, inputs, len(examples), speed["repeats"])
        spread = float(100 * (speeds[effects.WHOLE].max() / speeds[effects.WHOLE].min() - 1))
        for variant, variant_model in models.items():
            parameters, left = sum(w.numel() for w in variant_model.parameters()), len(heads) - len(pruned_heads[variant])
            row = {"variant": variant, "batch": batch, "heads": left, "spread": spread, "parameters": parameters}
            rows.append(row | speedup(speeds[variant], speeds[effects.WHOLE]))
    on_gpu = model.device.type == "cuda"
    device = torch.cuda.get_device_name() if on_gpu else f"a processor, threads: {torch.get_num_threads()}"
    device = f"{device}, attention by {KERNEL}, in {model.dtype}"
    return pd.DataFrame(rows).assign(repeats=speed["repeats"], n=len(examples), unit="examples", device=device)[TIMING]


def _pruned_model(model: PreTrainedModel, pruned_heads: pd.DataFrame) -> PreTrainedModel:
    pruned = copy.deepcopy(model)
    groups = pruned_heads.groupby(["kind", "layer"])["head"]
    prune_heads(pruned, {(KINDS[kind], layer): [*heads] for (kind, layer), heads in groups})
    pruned.set_attn_implementation(KERNEL)
    return pruned


def speedup(speeds: Floats, baseline: Floats) -> dict[str, Any]:
    """Mean and sd of examples per second [repeat]; speedup in percent over the same pass of the full model: geometric mean."""
    row = {"examples_per_second": speeds.mean(), "sd": speeds.std(ddof=1) if len(speeds) > 1 else np.nan}
    gains = np.log(speeds / baseline)
    ends = np.expm1([gains.mean(), *mean_interval(gains)])
    return row | dict(zip(("speedup", "speedup_low", "speedup_high"), 100 * ends, strict=True))


@torch.inference_mode()
def timed(
    models: Mapping[str, PreTrainedModel], inputs: Sequence[Mapping[str, torch.Tensor]], examples: int, repeats: int
) -> dict[str, Floats]:
    """Model -> examples per second of each repeat; the models take turns, after each has seen every shape of input untimed.

    Every other repeat goes through the models backwards, so that a drift of the machine favours none of them.
    """
    shapes = {batch["input_ids"].shape: batch for batch in inputs}
    for model in models.values():
        for batch in shapes.values():
            model(**batch)
    speeds: dict[str, list[float]] = {name: [] for name in models}
    for repeat in range(repeats):
        for name, model in list(models.items())[:: -1 if repeat % 2 else 1]:
            _wait()
            start = time.perf_counter()
            for batch in inputs:
                model(**batch)
            _wait()
            speeds[name].append(examples / (time.perf_counter() - start))
    return {name: np.asarray(values, dtype=np.float64) for name, values in speeds.items()}


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
