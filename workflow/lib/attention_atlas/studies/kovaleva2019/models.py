"""What the models of a task are run for: predictions (Table 1), also with heads disabled (Figures 8 and 9), and measures.

Words have tags and relations (gold layers, or spaCy's), and from them features (section 4.4, Figure 7) and links (section 4.5).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch.nn.functional import cosine_similarity
from transformers import PreTrainedModel

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import self_attention, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.glue import TASKS
from attention_atlas.corpora.text import WORD
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_encoder
from attention_atlas.models.task_heads import (
    classes_of,
    labels_of,
    load_classifier,
    logits,
    logits_under,
    predicted,
    untrained_logits,
)
from attention_atlas.studies.kovaleva2019 import ANNOTATORS, FEATURES, LINKS, MODES, VERB_LINKS
from attention_atlas.studies.kovaleva2019.changes import MEASURED, Measures, Pair, control_weights, largest_weights
from attention_atlas.studies.kovaleva2019.patterns import MapNetwork, Thresholds, annotated, load_network

_log = logging.getLogger(__name__)
Models = tuple[PreTrainedModel, PreTrainedModel]
"""The pre-trained and the fine-tuned model."""
_PADDED_BATCH = 8
Bools = npt.NDArray[np.bool_]
_REVERSED = {"verb_subj": "subj_verb", "pron_noun": "noun_pron"}
PRONOUNS = ("PRP", "PRP$")
_SUBJECTS = frozenset("nsubj nsubjpass csubj csubjpass agent expl".split())
_OBJECTS = frozenset("dobj iobj dative attr oprd".split())
NEGATIONS = (
    "neither nor not never none don't won't didn't hadn't haven't can't isn't wasn't shouldn't couldn't nothing nowhere".split()
)
"""Kovaleva et al. 2019, footnote 6."""


def load_tuned(entries: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> Iterator[tuple[str, int, PreTrainedModel]]:
    """State, seed and model from state -> seed -> registry entry; one model at a time is in memory."""
    for state, by_seed in entries.items():
        for seed, entry in by_seed.items():
            yield state, seed, load_classifier(entry)


def predictions(
    base: Mapping[str, Any],
    tuned: Annotated[Iterator[tuple[str, int, PreTrainedModel]], load_tuned],
    card: Card,
    examples: Examples,
    task: str,
    classifier_seeds: int,
) -> pd.DataFrame:
    """state, seed, record, prediction, label: of every model of a task and example, as names of classes, or numbers (Table 1).

    base: registry entry of the pre-trained model, which gets `classifier_seeds` random classification layers.
    """
    pad, regression, labels = card.pad or 0, TASKS[task].regression, labels_of(examples)
    classes = sorted(set(labels))
    untrained = untrained_logits(base, examples, pad, 1 if regression else len(classes), range(classifier_seeds), pick_device())
    predicted_by = {("untrained", seed): predicted(values, classes, regression) for seed, values in enumerate(untrained)}
    for state, seed, model in tuned:
        names = [] if regression else classes_of(model, labels)
        predicted_by[state, seed] = predicted(logits(model, examples, pad), names, regression)
    records = [example.record for example in examples]
    frames = [
        pd.DataFrame({"state": state, "seed": seed, "record": records, "prediction": values, "label": labels})
        for (state, seed), values in predicted_by.items()
    ]
    return pd.concat(frames, ignore_index=True)


def measures(
    base: Annotated[PreTrainedModel, load_encoder],
    tuned: Annotated[PreTrainedModel, load_classifier],
    card: Card,
    examples: Examples,
    network: Annotated[MapNetwork, load_network],
    thresholds: pd.DataFrame,
    padded: Mapping[str, int],
    measured_records: int,
    ablated_records: int,
    tagger: str,
    task: str,
    seed: int,
    tagged: Examples = (),
) -> dict[str, Any]:
    """Measures of Figures 2, 5, 6 and 7 and sections 4.4 and 4.5, in one pass of two models over the examples of a task; and
    its predictions with heads disabled. padded: length and (at most) records of the comparison of padded maps. tagged: tagged
    sentences for features and links, if the examples have no tags.
    """
    measured = [example for example in examples if example.record < measured_records]
    if not measured:
        raise AtlasError("there is no example to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    encoder = tuned.base_model
    assert isinstance(encoder, PreTrainedModel)
    if self_attention(base) != self_attention(encoder):
        raise AtlasError(f"{tuned.config.name_or_path}: this model has another shape than the one it was trained from.")
    analyses, by_rules = analyses_of(measured, tagger), Thresholds(**thresholds.iloc[0])
    arrays = one_pass((base, encoder), measured, card, analyses, network, by_rules, seed)
    if tagged and not analyses:
        gold = analyses_of(tagged[:measured_records], tagger)
        of_tagged = one_pass((base, encoder), tagged[:measured_records], card, gold, network, by_rules, seed)
        arrays |= {name: of_tagged[name] for name in ("links", "link_controls")}
        arrays |= {name: np.concatenate([arrays[name], of_tagged[name]], axis=2) for name in ("columns", "first_row")}
    short = [e for e in measured if len(e.input_ids) <= padded["length"]][: padded["records"]]
    made = Measures(
        **arrays,
        padded=padded_cosine((base, encoder), short, card.pad or 0, padded["length"]),
        padded_records=np.asarray([e.record for e in short], dtype=np.int64),
    )
    return {"measures": made, "disabled": disabled(tuned, card, [e for e in examples if e.record < ablated_records], task)}


def disabled(model: PreTrainedModel, card: ModelCard, examples: Sequence[Example], task: str) -> pd.DataFrame:
    """Predictions of a task's model, unchanged and with each head and each layer disabled (Figures 8 and 9: uniform attention
    to all real tokens): record, label, unchanged, and a column for each layer-head from 1 (head 0: the whole layer).
    """
    _, layers, heads = self_attention(model)
    conditions = {
        f"{layer}-{head}": Plan().uniform(layer, head or None)
        for layer, head in product(range(1, layers + 1), range(heads + 1))
    }
    labels, regression = labels_of(examples), TASKS[task].regression
    names = [] if regression else classes_of(model, labels)
    condition_logits = logits_under(model, examples, list(conditions.values()), card.pad or 0)
    predictions = [predicted(values, names, regression) for values in condition_logits]
    columns = dict(zip(["unchanged", *conditions], predictions, strict=True))
    return pd.DataFrame({"record": [example.record for example in examples], "label": labels, **columns})


def one_pass(
    models: Models,
    examples: Sequence[Example],
    card: ModelCard,
    analyses: Mapping[int, Analysis],
    network: MapNetwork,
    thresholds: Thresholds,
    seed: int,
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of `Measures` except the padded ones; `analyses`: record -> its words, empty without tags."""
    _, layers, heads = self_attention(models[0])
    count, places = len(examples), {example.record: place for place, example in enumerate(examples)}
    shapes: dict[str, tuple[int, ...]] = {"columns": (len(MEASURED), layers, heads), "first_row": (len(MEASURED), heads)}
    shapes |= dict.fromkeys(("links", "link_controls"), (len(LINKS), layers, heads))
    every: tuple[int, ...] = (2, len(MODES), count)
    arrays: dict[str, Any] = {name: np.full((*every, *shape), np.nan, np.float32) for name, shape in shapes.items()}
    arrays["records"] = np.asarray([example.record for example in examples], dtype=np.int64)
    arrays["cosine"] = np.zeros((count, layers, heads), np.float32)
    arrays["classes"] = np.zeros((len(ANNOTATORS), count, layers, heads), np.int8)
    for batch in progress(list(batch_by_length(examples)), label="examples"):
        inputs = model_inputs(models[0], batch, card.pad or 0)
        rows, real = [places[example.record] for example in batch], inputs["attention_mask"].to(torch.float32)
        # [mode, example, feature, n] which tokens have a feature.
        marks = torch.zeros((len(MODES), len(batch), len(FEATURES), real.shape[1]), dtype=torch.bool)
        for (number, mode_name), (k, example) in product(enumerate(MODES), enumerate(batch)):
            for name, mask in feature_masks(example, card.cls, card.sep, analyses.get(example.record), mode_name).items():
                marks[number, k, FEATURES.index(name), : len(mask)] = torch.from_numpy(mask)
        marks = marks.to(real.device)
        maps = [_attention(model, inputs) * real[:, None, :, None] for model in models]
        for number, of_model in enumerate(maps):
            for layer, of_layer in enumerate(of_model):
                means = of_layer.sum(2) / real.sum(1)[:, None, None]
                arrays["columns"][number, :, :, :, layer][:, rows] = _largest(means, marks).cpu().numpy()
            arrays["first_row"][number][:, rows] = _largest(of_model[-1, :, :, 0], marks).cpu().numpy()
        cosines = cosine_similarity(maps[0].flatten(3), maps[1].flatten(3), -1)
        arrays["cosine"][rows] = cosines.transpose(0, 1).cpu().numpy()
        for k, (row, example) in enumerate(zip(rows, batch, strict=True)):
            n = len(example.input_ids)
            probabilities, by_rules = annotated(maps[1][:, k, :, :n, :n].flatten(0, 1), example, network, thresholds)
            by_annotator = np.stack([probabilities.argmax(axis=1), by_rules])
            arrays["classes"][:, row] = by_annotator.reshape(-1, layers, heads)
            if listed_negations(example):
                # In section 4.4 the published code counts a text with "another", but no token "not", as 0; Figure 7 skips it.
                published = arrays["columns"][:, MODES.index("as_published"), row, MEASURED.index("neg")]
                np.nan_to_num(published, copy=False)
            if example.record not in analyses:
                continue
            of_models = [of_model[:, k].cpu().numpy() for of_model in maps]
            for (mode, mode_name), (link, name) in product(enumerate(MODES), enumerate(LINKS)):
                pairs = piece_pairs(example, analyses[example.record], name, mode_name)
                linked = {*pairs, *piece_pairs(example, analyses[example.record], name, "corrected")}
                for number, weights in enumerate(of_models if pairs else ()):
                    place, generator = (number, mode, row, link), np.random.default_rng([seed, example.record, mode, link])
                    arrays["links"][place] = largest_weights(weights, pairs)
                    arrays["link_controls"][place] = control_weights(weights, pairs, linked, example, generator)
    return arrays


def _attention(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """[layer, example, head, n, n] weights of a batch."""
    layers: list[torch.Tensor] = []
    with torch.inference_mode(), watch(model, observers=[lambda _, weights: layers.append(weights.float())]) as session:
        session.batch(inputs["attention_mask"])
        model(**inputs)
    return torch.stack(layers)


def _largest(weights: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """[mode, example, measure, head] of weights [example, head, n]: the largest over the marked tokens, NaN without any."""
    marked = marks[:, :, :, None, :]
    largest = weights[None, :, None].masked_fill(~marked, -1).amax(-1)
    largest = torch.where(marked.any(-1), largest, torch.nan)
    separators = marked[:, :, FEATURES.index("sep")]
    total = (weights[None] * separators).sum(-1)
    total = torch.where(separators.any(-1), total, torch.nan)
    return torch.cat([largest, total[:, :, None]], dim=2)


def padded_cosine(models: Models, examples: Sequence[Example], pad: int, length: int) -> npt.NDArray[np.float32]:
    """[example, layer, head] cosine of maps padded to one length, with the rows of padding, as in the published code."""
    _, layers, heads = self_attention(models[0])
    cosines = np.zeros((len(examples), layers, heads), np.float32)
    for start in progress(range(0, len(examples), _PADDED_BATCH), label="padded examples"):
        batch = slice(start, start + _PADDED_BATCH)
        inputs = model_inputs(models[0], examples[batch], pad, length)
        before, after = (_attention(model, inputs).flatten(3) for model in models)
        cosines[batch] = cosine_similarity(before, after, -1).transpose(0, 1).cpu().numpy()
    return cosines


class Token(NamedTuple):
    """The words that belong to a token, its Penn tag, the relation to its head, and the place of the head if known."""

    words: tuple[int, ...]
    tag: str
    relation: str
    head: int | None = None


Analysis = tuple[Token, ...]


def gold_analysis(example: Example) -> Analysis | None:
    """The gold layers of an example, one token for each word; None where it has no tags or no relations."""
    if not {"xpos", "relations"} <= example.layers.keys():
        return None
    heads = example.layers.get("heads", (0,) * len(example.words))
    return tuple(
        Token((k,), tag, relation, head - 1 if head > 0 else None)
        for k, (tag, relation, head) in enumerate(zip(example.layers["xpos"], example.layers["relations"], heads, strict=True))
    )


def text_of_word(example: Example) -> list[int]:
    """For each word the number of its text: special tokens separate the two texts of a pair."""
    word = np.asarray(example.word)
    special = word == SPECIAL
    texts, numbers = np.cumsum(special[1:] & ~special[:-1]), np.zeros(len(example.words), int)
    numbers[word[1:][~special[1:]]] = texts[~special[1:]]
    return numbers.tolist()


def aligned(example: Example, documents: Sequence[Sequence[Any]]) -> Analysis:
    """Tokens of spaCy on each text of an example, each with the words most of whose characters lie in it."""
    starts = np.cumsum([0, *map(len, documents)]).tolist()
    words: list[list[int]] = [[] for _ in range(starts[-1])]
    # By text, the character after its last word so far.
    stops = [0] * len(example.texts)
    for word, (form, text) in enumerate(zip(example.words, text_of_word(example), strict=True)):
        start = example.texts[text].index(form, stops[text])
        stops[text] = stop = start + len(form)
        shared = [min(stop, t.idx + len(t.text)) - max(start, t.idx) for t in documents[text]]
        if shared and max(shared) > 0:
            words[starts[text] + int(np.argmax(shared))].append(word)
    placed = [(first, token, token.head.i) for first, document in zip(starts, documents, strict=False) for token in document]
    return tuple(
        Token(tuple(words[first + token.i]), token.tag_, token.dep_, None if head == token.i else first + head)
        for first, token, head in placed
    )


def analyses_of(examples: Sequence[Example], tagger: str) -> dict[int, Analysis]:
    """Record -> its gold analysis, or all by spaCy on the running texts; empty without either."""
    gold = {example.record: gold_analysis(example) for example in examples}
    analyses = {record: analysis for record, analysis in gold.items() if analysis is not None}
    if len(analyses) == len(examples):
        return analyses
    try:
        import spacy

        pipeline = spacy.load(tagger)
    except (ImportError, OSError):
        absent = "nouns, verbs, pronouns, subjects, objects and links are absent from the task's texts: they have no gold tags"
        _log.warning("%s, and spaCy or its model is missing (pip install spacy, python -m spacy download %s)", absent, tagger)
        return {}
    return {example.record: aligned(example, [pipeline(text) for text in example.texts]) for example in examples}


def feature_masks(example: Example, cls: str | None, sep: str | None, analysis: Analysis | None, mode: str) -> dict[str, Bools]:
    """[n] which tokens have a feature, for every feature; without an analysis, those that need tags are absent."""
    tokens, word = np.asarray(example.tokens, dtype=object), np.asarray(example.word)
    words: dict[str, list[int]] = {}
    if analysis is not None:
        tests: dict[str, Callable[[Token], bool]] = {
            "noun": lambda token: token.tag.startswith("NN"),
            "verb": lambda token: token.tag.startswith("VB"),
            "pron": lambda token: token.tag in PRONOUNS,
            "subj": lambda token: token.relation in _SUBJECTS,
            "obj": lambda token: token.relation in _OBJECTS,
        }
        words = {name: [word for token in analysis if test(token) for word in token.words] for name, test in tests.items()}
    words["neg"] = negated(example.words)
    words["punct"] = [k for k, form in enumerate(example.words) if not any(c.isalnum() for c in form)]
    masks = {"sep": tokens == sep, "cls": tokens == cls}
    for name, word_positions in words.items():
        mask = np.isin(word, word_positions)
        if mode == "as_published" and name != "punct":
            # The same spelling elsewhere counts as well, in every word that shares a word piece.
            mask = np.isin(tokens, tokens[mask]) & (word != SPECIAL)
        masks[name] = mask
    if mode == "as_published":
        masks["neg"] = np.isin(tokens, WORD.findall(" ".join(listed_negations(example))))
    return masks


def listed_negations(example: Example) -> list[str]:
    """`NEGATIONS` that are a part of its texts, as in the published code: "not" is in "another" as well."""
    texts = example.texts or (" ".join(example.words),)
    return [negation for negation in NEGATIONS if any(negation in text for text in texts)]


def negated(words: Sequence[str]) -> list[int]:
    """Positions of negations, whole words and contractions."""
    positions: set[int] = set()
    # A contraction is split into three words, or into two as in treebanks.
    for start, size in product(range(len(words)), (1, 2, 3)):
        whole = "".join(words[start : start + size]).lower().replace("’", "'")
        if start + size <= len(words) and (size == 1 or "'" in whole) and (whole == "n't" or whole in NEGATIONS):
            positions |= set(range(start, start + size))
    return sorted(positions)


def word_links(example: Example, analysis: Analysis, link: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Words of the query and of the key of each link."""
    if link in _REVERSED:
        return [(key, query) for query, key in word_links(example, analysis, _REVERSED[link])]
    if link == "subj_verb":
        subjects = [token for token in analysis if token.relation == "nsubj"]
        pairs = [(token, analysis[token.head]) for token in subjects if token.head is not None]
        return [(subject.words, verb.words) for subject, verb in pairs if verb.tag.startswith("VB")]
    text = text_of_word(example)
    nouns = [token.words for token in analysis if token.words and token.tag.startswith("NN")]
    pronouns = [token.words for token in analysis if token.words and token.tag in PRONOUNS]
    return [(noun, pronoun) for noun, pronoun in product(nouns, pronouns) if text[noun[0]] == text[pronoun[0]]]


def piece_pairs(example: Example, analysis: Analysis, link: str, mode: str) -> list[Pair]:
    """Pairs of tokens (query, key) of all links of a kind (one of `LINKS`).

    corrected: each token of the one word with each of the other. as_published (no nouns and pronouns): all tokens spelled like
    one of a query are paired one by one with those spelled like one of a key, in the order of the sequence.
    """
    pairs = word_links(example, analysis, link)
    links = [[[place for place, word in enumerate(example.word) if word in words] for words in pair] for pair in pairs]
    if mode == "corrected":
        return [pair for query, key in links for pair in product(query, key)]
    if link not in VERB_LINKS:
        return []
    spelled = [{example.tokens[place] for link in links for place in link[end]} for end in (0, 1)]
    queries, keys = ([place for place, token in enumerate(example.tokens) if token in forms] for forms in spelled)
    return list(zip(queries, keys, strict=False))
