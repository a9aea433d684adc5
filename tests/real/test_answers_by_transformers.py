"""Answers of the laptop run's fine-tuned models once more: the checkpoints in plain transformers, on the corpora's own files.

The run answers in batches and with its own attention function, so that logits differ in the last digits (about 5e-6): another
answer is possible only where the two best ones are as close as that. A few texts have other tokens: the run splits words
at symbols outside ASCII ("£3", "5°"), where BERT's tokenizer does not. They are counted, and not compared.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

MOST_DIFFERENT = 0.005
"""Share of answers that may differ."""
MOST_OTHER_TOKENS = 0.02
"""Share of texts that may have other tokens."""
LONGEST_ANSWER = 30
LONGEST_WINDOW = 384


def opened(run: Path, name: str, kind: str) -> tuple[Any, Any]:
    """Tokenizer and model of a checkpoint of the run, in single precision."""
    folder = run / "models" / name / "checkpoint"
    if not (folder / "config.json").is_file():
        pytest.skip(f"the run has no model {name}")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    return tokenizer, model.eval()


def examples(run: Path, corpus: str, columns: list[str]) -> pd.DataFrame:
    shards = sorted((run / "examples/minilm" / corpus).glob("*.parquet"))
    return pd.concat([pd.read_parquet(path, columns=columns) for path in shards], ignore_index=True)


def batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def test_similarities_of_sts_b(kovaleva2019, mirror):
    tokenizer, model = opened(kovaleva2019.parent, "minilm-glue-laptop-stsb-42", "AutoModelForSequenceClassification")
    with (mirror / "glue/STS-B/dev.tsv").open(encoding="utf-8", newline="") as file:
        pairs = [(row["sentence1"], row["sentence2"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    by_length = sorted(range(len(pairs)), key=lambda k: sum(map(len, pairs[k])))
    scores = np.empty(len(pairs))
    for places in batches(by_length, 32):
        inputs = tokenizer(*zip(*(pairs[k] for k in places), strict=True), padding=True, truncation=True, return_tensors="pt")
        with torch.no_grad():
            scores[places] = model(**inputs).logits[:, 0].numpy()
    run_examples = examples(kovaleva2019.parent, "stsb-dev-whole", ["record", "id", "input_ids"]).set_index("record")
    frame = pd.read_parquet(kovaleva2019 / "predictions/stsb.parquet").query("state == 'tuned' and seed == 42")
    frame = frame.set_index("record").join(run_examples)
    places = frame["id"].astype(int) - 1
    same_tokens = np.array(
        [
            tokenizer(*pairs[k], truncation=True)["input_ids"] == list(ids)
            for k, ids in zip(places, frame["input_ids"], strict=True)
        ]
    )
    difference = np.abs(frame["prediction"].astype(float) - scores[places])[same_tokens]
    print(f"{same_tokens.sum()} of {len(frame)} pairs have the same tokens, largest difference: {difference.max():.1e}")
    assert len(frame) == len(pairs)
    assert (~same_tokens).mean() < MOST_OTHER_TOKENS
    assert difference.max() < 1e-3


def test_tags_of_keyphrases(stefanik2021):
    tokenizer, model = opened(stefanik2021.parent, "minilm-keyphrases-laptop-keyphrases-42", "AutoModelForTokenClassification")
    (path,) = (stefanik2021 / "removals").glob("*-42.parquet")
    frame = pd.read_parquet(path).query("order == 'one' and count == 0 and split == 'test'").set_index("record")["answer"]
    same = total = 0
    for example in examples(stefanik2021.parent, "semeval2017-test", ["record", "words"]).itertuples():
        encoding = tokenizer(list(example.words), is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            best = model(**encoding).logits[0].argmax(dim=-1).tolist()
        words = encoding.word_ids()
        tags = [model.config.id2label[best[words.index(k)]] for k in range(len(example.words))]
        same += sum(map(str.__eq__, tags, frame[example.record]))
        total += len(tags)
        assert len(tags) == len(frame[example.record])
    print(f"{same} of {total} words have the same tag")
    assert same >= (1 - MOST_DIFFERENT) * total


def test_answers_to_questions(guan2020, mirror):
    """Questions whose passage fits into one window; the best span of at most 30 tokens, as whole words."""
    tokenizer, model = opened(guan2020.parent, "minilm-squad-laptop", "AutoModelForQuestionAnswering")
    articles = json.loads((mirror / "xquad_en/xquad.en.json").read_text(encoding="utf-8"))["data"]
    questions = {qa["id"]: (qa["question"], p["context"]) for a in articles for p in a["paragraphs"] for qa in p["qas"]}
    frame = pd.read_parquet(guan2020 / "answers.parquet").query("row == 1 and draw == 0").set_index("question")["answer"]
    tokens = dict(examples(guan2020.parent, "xquad-en", ["id", "input_ids"]).itertuples(index=False, name=None))
    answers, other_tokens = {}, []
    for key in frame.index:
        question, context = questions[key]
        encoding = tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
        offsets = encoding.pop("offset_mapping")[0].tolist()
        if len(offsets) > LONGEST_WINDOW:
            continue
        if encoding["input_ids"][0].tolist() != list(tokens[key]):
            other_tokens.append(key)
            continue
        with torch.no_grad():
            output = model(**encoding)
        passage = np.array([sequence == 1 for sequence in encoding.sequence_ids()])
        start, end = (np.where(passage, logits[0].numpy(), -np.inf) for logits in (output.start_logits, output.end_logits))
        spans = np.triu(np.ones((len(offsets),) * 2)) - np.triu(np.ones((len(offsets),) * 2), LONGEST_ANSWER)
        first, last = np.unravel_index(np.argmax(np.where(spans > 0, start[:, None] + end, -np.inf)), spans.shape)
        words = encoding.word_ids()
        inside = [k for k in np.flatnonzero(passage) if words[first] <= words[k] <= words[last]]
        answers[key] = context[offsets[inside[0]][0] : offsets[inside[-1]][1]]
    same = sum(answers[key] == frame[key] for key in answers)
    print(f"{same} of {len(answers)} answers are the same, {len(other_tokens)} questions have other tokens: {other_tokens}")
    assert len(answers) > 0.8 * len(frame)
    assert len(other_tokens) <= MOST_OTHER_TOKENS * len(frame)
    assert same >= (1 - MOST_DIFFERENT) * len(answers)
