"""Ablations by type of head: all rows of Tables 2 and 3 in one pass against one full evaluation per row, the same answers."""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertForQuestionAnswering

from attention_atlas.attention.batches import model_inputs
from attention_atlas.attention.engine import install, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import QuestionAnnotation
from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, VERTICAL
from attention_atlas.models.task_heads import answer_texts, passage_pieces
from attention_atlas.studies.guan2020.ablations import UNCHANGED, Answers, Condition, answer_all, conditions, sentence_ids
from benchmarks.timing import report, side_by_side

LAYERS, HEADS, QUESTIONS, BATCH, LONGEST = 6, 12, 24, 8, 384
# Where the paper's types stand: dense heads below, vertical ones above, the others between.
_TYPES = {0: (DENSE, DIAGONAL), 1: (DENSE, DIAGONAL), 2: (DENSE_VERTICAL, DIAGONAL), 3: (DENSE_VERTICAL, DIAGONAL)}


def run() -> None:
    """Print the ratios; all ways must give the same answers."""
    torch.set_num_threads(2)
    torch.manual_seed(0)
    size = {"hidden_size": 384, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 1536}
    model = BertForQuestionAnswering(BertConfig(vocab_size=2000, initializer_range=0.1, **size)).eval()
    install(model)
    generator = np.random.default_rng(0)
    # Lengths as those of SQuAD: about 180 pieces, some much longer.
    lengths = np.clip(generator.lognormal(np.log(160), 0.4, QUESTIONS), 40, LONGEST).astype(int)
    examples = [_example(record, int(n), generator) for record, n in enumerate(lengths)]
    types = {
        (layer, head): _TYPES.get(layer, (VERTICAL, DENSE_VERTICAL))[head % 2]
        for layer in range(LAYERS)
        for head in range(HEADS)
    }
    settings = {"random_sets": 0, "permutations": 0, "sentences": "stops", "renormalise": False}
    rows = [c for c in conditions(types, HEADS, settings, 0) if c.sentences in ("", "segments")]
    answers_by_method: dict[str, Answers] = {}

    def together() -> None:
        answers_by_method["together"] = answer_all(model, examples, rows, 0, "none")

    def one_a_row() -> None:
        answers_by_method["row"] = _evaluations(model, examples, rows, longest=None)

    def padded() -> None:
        answers_by_method["padded"] = _evaluations(model, examples, rows, longest=LONGEST)

    reference = "all rows in one pass"
    names = {
        reference: together,
        "one evaluation per row, batches in file order": one_a_row,
        "the same, padded to 384 tokens": padded,
    }
    medians = side_by_side(names, 1)
    for method in ("row", "padded"):
        for key, answers in answers_by_method[method].items():
            one_pass = answers_by_method["together"][key]
            differ = sum(one_pass[record][0] != text for record, (text, _) in answers.items())
            # Padding changes the order of sums in the last bit: two spans of equal score may change places.
            assert differ <= 0.05 * len(answers), (key, differ)
    print(f"{len(rows)} rows and the baseline, {QUESTIONS} questions of {lengths.mean():.0f} pieces on average")
    report(medians, reference)


def _example(record: int, n: int, generator: np.random.Generator) -> Example:
    size = 12
    count = n - size - 3
    ids = (2, *generator.integers(5, 2000, size), 3, *generator.integers(5, 2000, count), 3)
    word = (-1, *range(size), -1, *range(size, size + count), -1)
    words = tuple(f"w{k}" for k in range(size + count))
    context = " ".join(words[size:])
    starts = tuple(np.cumsum([0, *(len(w) + 1 for w in words[size:-1])]).tolist())
    stops = tuple(a + len(w) for a, w in zip(starts, words[size:], strict=True))
    question = QuestionAnnotation(f"q{record}", context, size, starts, stops, (words[size],), None)
    plain = tuple(int(i) for i in ids)
    return Example(
        record, f"q{record}", plain, (0,) * (size + 2) + (1,) * (count + 1), ("x",) * n, word, words, question=question
    )


def _evaluations(
    model: BertForQuestionAnswering, examples: list[Example], rows: list[Condition], longest: int | None
) -> Answers:
    """One evaluation after another: the baseline, then each row, batches in the order of the file."""
    answers: Answers = {}
    for condition in (None, *rows):
        row_answers: dict[int, tuple[str, float]] = {}
        for start in range(0, len(examples), BATCH):
            batch = examples[start : start + BATCH]
            inputs = model_inputs(model, batch, 0)
            if longest is not None:
                missing = longest - inputs["input_ids"].shape[1]
                inputs = {name: torch.nn.functional.pad(value, (0, missing)) for name, value in inputs.items()}
            length = inputs["input_ids"].shape[1]
            with torch.inference_mode(), watch(model, plan=condition.plan if condition else None) as session:
                ids = None
                if condition and condition.sentences:
                    ids = sentence_ids(batch, condition.sentences, "none")
                    ids = torch.nn.functional.pad(ids, (0, length - ids.shape[1]), value=-1)
                session.batch(inputs["attention_mask"], ids)
                output = model(**inputs)
            texts = answer_texts(batch, output.start_logits, output.end_logits, passage_pieces(batch, length))
            row_answers.update(zip((example.record for example in batch), texts, strict=True))
        answers[(condition or UNCHANGED)[:4]] = row_answers
    return answers
