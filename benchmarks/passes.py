"""Processor seconds of the inner work of the most expensive rules at several shapes, and the cost model that follows from them.

python -m benchmarks.passes [RULE ...]   measure (minutes, one thread), write benchmarks/passes.tsv; only some rules where named
python -m benchmarks.passes --fit        fit the coefficients that all rules share; show jobs that no fit includes
python -m benchmarks.passes --here       how much longer this machine takes than the one that was measured (half a minute)

Random weights take as long as real ones. No fit includes models of BERT-base's shape, and of Transformer-big's for translation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import yaml
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    MarianConfig,
    MarianMTModel,
)

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

from attention_atlas.attention.batches import batch_by_length, model_inputs  # noqa: E402
from attention_atlas.attention.engine import attention_shape, install  # noqa: E402
from attention_atlas.attention.plans import Plan  # noqa: E402
from attention_atlas.attention.prefix import outputs_under  # noqa: E402
from attention_atlas.corpora.examples import Example  # noqa: E402
from attention_atlas.corpora.layers import EdgeTarget  # noqa: E402
from attention_atlas.methods.head_gradients import head_gradients  # noqa: E402
from attention_atlas.methods.masking import masks  # noqa: E402
from attention_atlas.models.classifying import logits_under  # noqa: E402
from attention_atlas.models.extraction import attention_maps  # noqa: E402
from attention_atlas.models.hidden_states import hidden_states  # noqa: E402
from attention_atlas.models.tagging import tags_under  # noqa: E402
from attention_atlas.models.translating import decoder_inputs, translate_under  # noqa: E402
from attention_atlas.studies.michel2019.experiments import Classification  # noqa: E402
from attention_atlas.studies.tenney2019.probes import ProbeKey  # noqa: E402
from attention_atlas.studies.tenney2019.recipe import Recipe  # noqa: E402
from attention_atlas.studies.tenney2019.targets import task_targets  # noqa: E402
from attention_atlas.studies.tenney2019.training import train_probes  # noqa: E402
from attention_atlas.workflow.cost_model import COEFFICIENTS_PATH, fit_shared, read_coefficients  # noqa: E402
from attention_atlas.workflow.costs import Shape  # noqa: E402
from attention_atlas.workflow.passes import Probing, Search, added, decoding, forward, probing, times, training  # noqa: E402

MEASURED = ROOT / "benchmarks" / "passes.tsv"
COLUMNS = ["rule", "layers", "heads", "hidden", "records", "tokens", "held_out", "seconds"]
VOCABULARY, BEAMS, BATCH, CONDITIONS = 30522, 5, 16, 4
REPEATS = 4
SMALL, MINILM, WIDE = Shape(4, 4, 256), Shape(6, 12, 384), Shape(4, 16, 1024)
BASE = Shape(12, 12, 768)
TRANSFORMERS, BIG = (Shape(2, 4, 256), Shape(6, 8, 512)), Shape(6, 16, 1024)
Run = tuple[Mapping[str, float], Callable[[], object]]
"""Work of a job, and the job."""


@dataclass(frozen=True)
class Case:
    """A job that is measured: its rule, the shape of its model, examples and their length."""

    rule: str
    shape: Shape
    records: int
    tokens: int

    @property
    def held_out(self) -> bool:
        """Whether no fit may include it."""
        return self.shape in (BASE, BIG)


def examples_of(case: Case, labels: bool = False) -> list[Example]:
    """Examples of random word pieces; every second one is of the other class."""
    generator = np.random.default_rng(0)
    n, made = case.tokens, []
    for record in range(case.records):
        ids = (*(int(piece) for piece in generator.integers(1000, VOCABULARY, n - 1)), 1)
        words = tuple(f"w{k}" for k in range(n - 2))
        label = f"LABEL_{record % 2}" if labels else None
        made.append(Example(record, f"e{record}", ids, (0,) * n, ("x",) * n, (-1, *range(n - 2), -1), words, label=label))
    return made


def bert(kind: Any, shape: Shape, **options: Any) -> Any:
    """A model of BERT's kind with random weights and the engine."""
    sizes = {"num_hidden_layers": shape.layers, "num_attention_heads": shape.heads, "hidden_size": shape.hidden}
    model = kind(BertConfig(**sizes, intermediate_size=4 * shape.hidden), **options)
    install(model)
    return model.eval().requires_grad_(False)


def marian(shape: Shape) -> MarianMTModel:
    """A translation model with random weights, which end no translation before its bound."""
    sizes = {f"{stack}_{name}": size for stack in ("encoder", "decoder") for name, size in _stack(shape).items()}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    model = MarianMTModel(
        MarianConfig(vocab_size=VOCABULARY, d_model=shape.hidden, max_position_embeddings=300, init_std=0.1, **sizes, **ids)
    )
    install(model)
    return model.eval()


def _stack(shape: Shape) -> dict[str, int]:
    return {"layers": shape.layers, "attention_heads": shape.heads, "ffn_dim": 4 * shape.hidden}


def _half_masked(shape: Shape) -> list[Plan]:
    """Plans whose first changed layers lie all over the model, as in a sweep over all heads."""
    return [Plan().zero(round(k * (shape.layers - 1) / (CONDITIONS - 1)), [0]) for k in range(CONDITIONS)]


def _sweep_work(case: Case) -> Mapping[str, float]:
    """The unchanged pass, and for each plan the layers from its first one on."""
    layers = sum(case.shape.layers - plan.first_layer for plan in _half_masked(case.shape))
    return times(1 + layers / case.shape.layers, forward(case.shape, case.records, case.tokens))


def _classified(case: Case) -> Run:
    model, examples = bert(BertForSequenceClassification, case.shape), examples_of(case)
    return _sweep_work(case), lambda: logits_under(model, examples, _half_masked(case.shape), 0)


def _tagged(case: Case) -> Run:
    model, examples = bert(BertForTokenClassification, case.shape), examples_of(case)
    model.config.id2label = {0: "O", 1: "B", 2: "I"}
    return _sweep_work(case), lambda: tags_under(model, examples, _half_masked(case.shape), 0)


def _answered(case: Case) -> Run:
    model, examples = bert(BertForQuestionAnswering, case.shape), examples_of(case)
    # Heads of a type lie in all layers.
    plans = [Plan().zero(layer, [0]) for layer in range(2)]

    def answer() -> None:
        for batch in batch_by_length(examples):
            for _ in outputs_under(model, model_inputs(model, batch, 0), ((plan, None) for plan in plans)):
                pass

    whole = forward(case.shape, case.records, case.tokens)
    return times(3 - 1 / case.shape.layers, whole), answer


def _extracted(case: Case) -> Run:
    model, examples = bert(BertModel, case.shape, add_pooling_layer=False), examples_of(case)
    return forward(case.shape, case.records, case.tokens), lambda: [None for _ in attention_maps(model, examples, 0, "tokens")]


def _stated(case: Case) -> Run:
    model, examples = bert(BertModel, case.shape, add_pooling_layer=False), examples_of(case)
    return forward(case.shape, case.records, case.tokens), lambda: [None for _ in hidden_states(model, examples, 0)]


def _fine_tuned(case: Case) -> Run:
    model = bert(BertForSequenceClassification, case.shape).train().requires_grad_(True)
    return _trained(case, model, examples_of(case, labels=True), lambda batch: torch.arange(len(batch)) % 2)


def _translation_trained(case: Case) -> Run:
    model, examples = marian(case.shape).train(), examples_of(case)
    _, run = _trained(case, model, examples, lambda batch: torch.tensor([example.input_ids for example in batch]))
    both = Shape(2 * case.shape.layers, case.shape.heads, case.shape.hidden)
    vocabulary = {"gflop": case.records * case.tokens * 6 * VOCABULARY * case.shape.hidden / 1e9}
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return added(training(both, case.records, case.tokens, BATCH, parameters), vocabulary), run


def _trained(case: Case, model: Any, examples: list[Example], targets: Callable[[list[Example]], torch.Tensor]) -> Run:
    # As the Trainer of transformers does.
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    parameters = sum(parameter.numel() for parameter in model.parameters())

    def train() -> None:
        for start in range(0, len(examples), BATCH):
            batch = examples[start : start + BATCH]
            labels = targets(batch)
            inputs = model_inputs(model, batch, 0)
            if model.config.is_encoder_decoder:
                inputs["decoder_input_ids"] = decoder_inputs(model, labels)
            model(**inputs, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()

    return training(case.shape, case.records, case.tokens, BATCH, parameters), train


def _importance_scored(case: Case) -> Run:
    model, examples = bert(BertForSequenceClassification, case.shape), examples_of(case, labels=True)
    # Without derivatives by the weights, a backward pass takes as long as a forward pass.
    work = times(2, forward(case.shape, case.records, case.tokens, 1024))
    return work, lambda: head_gradients(Classification(model, 0), examples)


def _translated(case: Case) -> Run:
    from tokenizers import Tokenizer, models

    model, examples = marian(case.shape), examples_of(case)
    tokenizer = Tokenizer(models.WordLevel({f"w{k}": k for k in range(VOCABULARY)}, unk_token="w2"))
    plans = [mask.plan for mask in masks(attention_shape(model)) if not mask.plan.part("decoder").changes_nothing][:1]
    search = Search(BEAMS, 2 * case.tokens + 10, VOCABULARY)
    encoded = forward(case.shape, case.records, case.tokens, 1024)
    work = added(encoded, times(1 + len(plans), decoding(case.shape, case.records, case.tokens, search)))
    return work, lambda: translate_under(model, examples, 0, tokenizer, plans, BEAMS)


def _probed(case: Case) -> Run:
    generator = np.random.default_rng(0)
    labels, batch, steps = 40, 32, 2
    words = case.tokens - 2
    examples = []
    for example in examples_of(case):
        targets = tuple(
            EdgeTarget((k, k + 1), (int(head), int(head) + 1), (f"L{label}",), "dependencies")
            for k, (head, label) in enumerate(generator.integers((words, labels), size=(words, 2)))
        )
        examples.append(Example(**{**vars(example), "edges": targets}))
    targets_of = task_targets("dependencies", examples, examples[:batch])
    states = {
        example.record: generator.normal(size=(case.shape.layers + 2, case.tokens, case.shape.hidden)).astype(np.float16)
        for example in examples
    }
    keys = [ProbeKey(top, 1) for top in range(case.shape.layers + 1)]
    recipe = Recipe(batch=batch, evaluation_interval=10**6, max_steps=steps, equal_steps=steps, evaluation_sentences=1)
    step = Probing(len(keys), batch * words, batch * words, 2, len(targets_of.labels))
    return probing(case.shape, steps, step), lambda: train_probes(targets_of, lambda e: states[e.record], keys, recipe)


JOBS: dict[str, Callable[[Case], Run]] = {
    "guan2020_ablations": _answered,
    "tenney2019_probes": _probed,
    "fine_tune": _fine_tuned,
    "kovaleva2019_disabled": _classified,
    "fine_tune_by_epoch": _translation_trained,
    "stefanik2021_removal": _tagged,
    "michel2019_pruned": _importance_scored,
    "michel2019_masked": _translated,
    "hidden_states": _stated,
    "extract_attention": _extracted,
}
"""The ten most expensive rules of the paper run -> their inner work. Orders of pruning are sweeps as those of disabling."""
LENGTHS = {"guan2020_ablations": (180,), "stefanik2021_removal": (170,), "extract_attention": (64, 128)}
TRANSLATION = ("michel2019_masked", "fine_tune_by_epoch")
COMPARED = {"fine_tune": 50, "tenney2019_probes": 50, "guan2020_ablations": 180, "extract_attention": 128}
"""Rules and lengths that show how fast a machine is."""


def cases() -> Iterator[Case]:
    """All jobs that are measured."""
    for rule in JOBS:
        translates = rule in TRANSLATION
        for shape in (*TRANSFORMERS, BIG) if translates else (SMALL, MINILM, WIDE, BASE):
            for tokens in LENGTHS.get(rule, (24,) if translates else (24, 50)):
                records = 32 if rule in ("tenney2019_probes", *TRANSLATION) else max(4, 800 // tokens)
                yield Case(rule, shape, 8 if rule == "michel2019_masked" else records, tokens)


def measure(case: Case) -> float:
    """Processor seconds of a job: the least of `REPEATS`, after one of the same kind has warmed the process up.

    Work beside it takes caches and memory bandwidth away, so that a single run of a job takes up to a third longer.
    """
    torch.manual_seed(0)
    _, run = JOBS[case.rule](case)
    run()
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def observed(table: pd.DataFrame) -> list[tuple[str, Mapping[str, float], float]]:
    """Rule, work and seconds of measured jobs."""
    rows = []
    for row in table.itertuples():
        case = Case(row.rule, Shape(row.layers, row.heads, row.hidden), row.records, row.tokens)
        rows.append((case.rule, JOBS[case.rule](case)[0], row.seconds))
    return rows


def slowness() -> float:
    """How many times as long this machine takes as the one measured: geometric mean over jobs of MiniLM's shape."""
    torch.set_num_threads(1)
    table = pd.read_csv(MEASURED, sep="\t").set_index(COLUMNS[:6])["seconds"]
    ratios = []
    for rule, tokens in COMPARED.items():
        case = next(case for case in cases() if (case.rule, case.shape, case.tokens) == (rule, MINILM, tokens))
        shape = (case.shape.layers, case.shape.heads, case.shape.hidden)
        ratios.append(measure(case) / float(table[(rule, *shape, case.records, tokens)]))
        print(f"{rule}: {ratios[-1]:.2f} times the seconds of the machine measured", flush=True)
    return float(np.exp(np.mean(np.log(ratios))))


def show(coefficients: Mapping[str, float], table: pd.DataFrame) -> None:
    """Print predicted and measured seconds of the jobs that the fit did not include."""
    for (rule, work, taken), row in zip(observed(table), table.itertuples(), strict=True):
        predicted = sum(amount * coefficients.get(kind, 0.0) for kind, amount in work.items())
        shape = f"{row.layers} x {row.heads} x {row.hidden}"
        print(f"| {rule} | {shape} | {row.tokens} | {predicted:.2f} | {taken:.2f} | {predicted / taken:.2f} |", flush=True)


def main() -> None:
    """Measure, or fit."""
    torch.set_num_threads(1)
    if "--here" in sys.argv:
        print(f"this machine: {slowness():.2f} times")
        return
    if "--fit" in sys.argv:
        table = pd.read_csv(MEASURED, sep="\t")
        held_out = table["held_out"].astype(bool)
        shared = fit_shared([(work, taken) for _, work, taken in observed(table[~held_out])])
        print("fitted to"), show(shared, table[~held_out])
        print("held out"), show(shared, table[held_out])
        known = read_coefficients()
        known["shared"] = {kind: float(f"{value:.3g}") for kind, value in shared.items()}
        note = COEFFICIENTS_PATH.read_text(encoding="utf-8").splitlines()[0]
        COEFFICIENTS_PATH.write_text(f"{note}\n{yaml.safe_dump(known, sort_keys=False)}", encoding="utf-8")
        return
    wanted = sys.argv[1:] or list(JOBS)
    rows = []
    for case in cases():
        if case.rule in wanted:
            taken = measure(case)
            shape = (case.shape.layers, case.shape.heads, case.shape.hidden)
            rows.append((case.rule, *shape, case.records, case.tokens, int(case.held_out), round(taken, 4)))
            print(*rows[-1], flush=True)
    table = pd.DataFrame(rows, columns=COLUMNS)
    if MEASURED.is_file():
        before = pd.read_csv(MEASURED, sep="\t")
        table = pd.concat([before[~before["rule"].isin(wanted)], table])
    table.to_csv(MEASURED, sep="\t", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
