"""Inputs of every figure for 24 layers of 16 heads, all tasks and long names: study -> figure and case -> parameters."""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.atlas.correlations import CORRELATIONS
from attention_atlas.atlas.measures import SOURCES
from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_measures import CLASSIFICATION, TRANSLATION
from attention_atlas.methods.head_types import FEATURES, TYPES, UNNAMED
from attention_atlas.methods.surface import MEASURES
from attention_atlas.studies.clark2019.figures import BEHAVIOURS
from attention_atlas.studies.clark2019.maps import FIGURE5_RELATIONS, KINDS, WINDOW, weights_frame
from attention_atlas.studies.kovaleva2019 import CLASSES, TASKS
from attention_atlas.studies.kovaleva2019.figures import _FEATURES
from attention_atlas.studies.michel2019.effects import PEARSON, RANDOM, SPEARMAN, TRIMMED
from attention_atlas.studies.michel2019.figures import ORDERS
from attention_atlas.studies.stefanik2021.figures import ORDERS as REMOVAL_ORDERS
from attention_atlas.studies.stefanik2021.head_measures import METHOD_TITLES
from attention_atlas.studies.tenney2019.summary import FIGURE3

LAYERS, HEADS = 24, 16
MODEL = "bert-large-uncased-whole-word-masking-finetuned-squad"
CORPUS = "OntoNotes 5.0 English, CoNLL-2012 split, development documents"
LABEL = RunLabel("Full run with the papers' models and corpora", MODEL, CORPUS, sample=True)


def long_labels(roles: Any) -> dict[str, RunLabel]:
    """Role -> a label with a long name of a corpus, another one for each role."""
    return {role: RunLabel(LABEL.run, MODEL, f"{CORPUS}, {role} part", sample=True) for role in roles}


def all_heads(kinds: Any = ("enc_enc",)) -> pd.DataFrame:
    """kind, layer and head of all heads."""
    return combined({"kind": kinds, "layer": range(1, LAYERS + 1), "head": range(1, HEADS + 1)})


def combined(*parts: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of all combinations of the values of the first part's keys, with the constants of the others."""
    index = pd.MultiIndex.from_product(list(parts[0].values()), names=list(parts[0]))
    frame = index.to_frame(index=False)
    for part in parts[1:]:
        frame = frame.assign(**part)
    return frame


def generator() -> np.random.Generator:
    """The same numbers in every test."""
    return np.random.default_rng(31)


Inputs = dict[str, Any]
PLACES = all_heads()[["layer", "head"]]
WORDS = ["[CLS]", "incomprehensib", "counterrevolut", "$1,234,567.89", "misunderstandi", "of", "the", "characteristic"] * 2


def chance(rows: pd.DataFrame | int = LAYERS * HEADS) -> np.ndarray:
    return generator().random(rows if isinstance(rows, int) else len(rows))


def noise(scale: float = 1.0) -> np.ndarray:
    return generator().normal(0, scale, LAYERS * HEADS)


def ends_of(value: Any, below: Any, above: Any) -> dict[str, Any]:
    return {"value": value, "ci_low": value - below, "ci_high": value + above}


def surface() -> pd.DataFrame:
    rows = PLACES.merge(pd.DataFrame({"measure": MEASURES}), how="cross")
    value = chance(rows) ** 3 * np.where(rows["measure"].str.startswith("entropy"), 4.8, 1)
    return rows.assign(**ends_of(value, value / 10, value / 10), n=12345, unit="documents", units=999)


def panel(words: list[str], unit: str, **labels: Any) -> pd.DataFrame:
    return weights_frame(generator().dirichlet(np.full(len(words), 0.1), size=len(words)), words, unit, **labels)


def clark_figure1() -> Inputs:
    facts = {"layer": LAYERS, "head": HEADS, "value": 4.0, "example": "document 12345"}
    return {"figure1_weights": pd.concat([panel(WORDS[:WINDOW], "token", kind=kind, **facts) for kind in KINDS])}


def clark_figure3() -> Inputs:
    keys = {"masking": ["masked", "unmasked"], "measure": ["per_weight", "per_query", "gradient_x_attention"]}
    rows = combined(keys | {"target": ["sep", "cls", "punct", "other"]}, {"rows": "predicted", "n": 12345, "mlm_head": "x"})
    rows = rows.merge(PLACES, how="cross")
    return {"gradients": rows.assign(value=10 ** generator().normal(-4, 2, len(rows)))}


def clark_figure5() -> Inputs:
    """The first relation has one sentence, the others have two."""
    names = (*FIGURE5_RELATIONS, "coreference")
    facts = {"sentence": "s", "layer": LAYERS, "head": HEADS, "direction": "head_to_dependent", "accuracy": 0.9999}
    sentences = [(name, example) for name in names for example in ((1,) if name == names[0] else (1, 2))]
    parts = [panel(WORDS[: 14 - k], "word", relation=name, example=k, **facts) for name, k in sentences]
    marked = pd.concat(parts).assign(marked=lambda rows: (rows["to_position"] == 3).astype(int))
    return {"figure5_dependencies": marked, "titles": {"coreference": CORPUS}}


def clark_figure6() -> Inputs:
    heads = PLACES.assign(x=noise(), y=noise()[::-1], behaviour=np.resize(list(BEHAVIOURS), len(PLACES)), relation=None)
    heads.loc[[7, 100, 101, 200, 300], "relation"] = [*FIGURE5_RELATIONS[:4], "coreference, pobj"]
    summary = pd.DataFrame({"quantity": ["segments"], "value": [12345]})
    test = pd.DataFrame({"quantity": ["displacement", "radius"], "value": [0.168, 0.223]})
    return {"clustering": heads, "clustering_test": test, "surface_summary": summary}


CLARK = {
    "figure1": clark_figure1,
    "figure2": lambda: {"surface": surface(), "random": surface()},
    "figure3": clark_figure3,
    "figure4": lambda: {
        "surface": surface(),
        "surface_summary": pd.DataFrame({"quantity": ["uniform_entropy"], "value": [4.79]}),
    },
    "figure5": clark_figure5,
    "figure6": clark_figure6,
}


def typed(**columns: Any) -> pd.DataFrame:
    return PLACES.assign(type=np.resize([*TYPES, UNNAMED], len(PLACES)), **columns)


def guan_figure1(size: int = 60) -> Inputs:
    keys = {"type": (*TYPES, UNNAMED), "rank": [1, 2], "query": range(1, size + 1), "key": range(1, size + 1)}
    cells = combined(keys, {"layer": LAYERS, "head": HEADS})
    tokens = {1: "[CLS]", 2: "[SEP]", size: "[SEP]"}
    cells = cells.assign(key_token=[tokens.get(key, "a") for key in cells["key"]], weight=chance(cells))
    features = pd.DataFrame({name: chance() for name in FEATURES})
    return {"maps": cells, "head_types": typed(n=1).join(features)}


def guan_figure5(size: int = 8) -> Inputs:
    rows = typed(example="SQuAD-v1.1-dev-12345-67-8", pieces=384)
    rows = rows.merge(combined({"row": range(1, size + 1), "column": range(1, size + 1)}), how="cross")
    return {"map_grid": rows.assign(weight=chance(rows))}


GUAN_MODELS = ("pretrain", "squad", "mrpc", "mnli", "qnli", "stsb")
GUAN = {
    "figure1": guan_figure1,
    "figure2": lambda: {
        "head_type_plane": typed(x=noise(), y=noise()[::-1]),
        "head_type_agreement": pd.DataFrame({"silhouette": [0.47]}),
        "head_types": typed(n=12345),
    },
    "figure3": lambda: {"head_types": typed(n=12345)},
    "figure4": lambda: {"models": combined({"model": GUAN_MODELS, "fit": ["reused", "refitted"]}).merge(typed(), how="cross")},
    "figure5": guan_figure5,
}


def of_tasks(**keys: Any) -> pd.DataFrame:
    rows = combined({"task": TASKS, **keys}).merge(PLACES, how="cross")
    return rows.assign(value=chance(rows), n=12345, seeds=10)


def kovaleva_figure1(size: int = 40) -> Inputs:
    tokens = ["[CLS]", "incomprehensibilities", "$5", "counterrevolutionaries", "of", *["characteristically"] * size]
    keys = {"class": CLASSES, "query": range(1, size + 1), "key": range(1, size + 1)}
    cells = combined(keys, {"probability": 0.999, "task": "mrpc", "example": "12345", "layer": LAYERS, "head": HEADS})
    return {"drawn": cells.assign(query_token=[tokens[query - 1] for query in cells["query"]], weight=chance(cells))}


def kovaleva_figure3() -> Inputs:
    value = chance()
    rows = PLACES.assign(value=value, control=0.1, n=12345, margin=value - 0.5, margin_all_low=value - 0.7)
    return {"frame_heads": rows, "direction": "target_to_fe", "pairing": "all"}


def changed(rows: pd.DataFrame) -> pd.DataFrame:
    """Changes of scores; none in one task."""
    delta = np.where(rows["task"] == "rte", 0, generator().normal(-3, 8, len(rows)))
    metric = rows["task"].map({"mrpc": "f1", "qqp": "f1", "stsb": "correlation"}).fillna("accuracy")
    facts = {"baseline": 88.8, "p_adjusted": 0.04, "n": 12345, "seeds": 10}
    return rows.assign(metric=metric, delta=delta, ci_low=delta - 5, ci_high=delta + 5, **facts)


FRAME_WORDS = "The $2 counterrevolutionaries were then characteristically agitated by the other revolutionaries .".split()
FRAME_ROLES = ["element"] * 3 + [""] * 3 + ["target", ""] + ["element"] * 3 + [""]
SHARES = {"share": 0.2, "maps": 10**6, "n": 12345}
KOVALEVA = {
    "figure1": kovaleva_figure1,
    "figure2": lambda: {
        "classes": combined({"task": TASKS, "annotator": ["rules", "network"], "class": CLASSES}, SHARES),
        "patterns": pd.DataFrame({"annotator": ["rules", "network"], "folds": "layer", "class": "macro", "f1": [0.72, 0.47]}),
    },
    "figure3": kovaleva_figure3,
    "figure4": lambda: {
        "frame_sentence": pd.DataFrame(
            {"word": FRAME_WORDS, "role": FRAME_ROLES, "frame": "Emotion_directed_at_someone", "example": "12345"}
        )
    },
    "figure5": lambda: {"cosine": of_tasks(crop=["padded", "real_same", "real"])},
    "figure6": lambda: {"special": of_tasks(feature=["sep", "sep_sum", "cls"])},
    "figure7": lambda: {
        "first_row": combined(
            {"task": TASKS, "mode": ["as_published", "corrected"], "feature": list(_FEATURES), "head": range(1, HEADS + 1)},
            {"value": 0.2, "n": 12345, "unit": "tagged sentences"},
        )
    },
    "figure8": lambda: {"disabling_heads": changed(combined({"task": TASKS}).merge(all_heads(), how="cross"))},
    "figure9": lambda: {"disabling_layers": changed(combined({"task": TASKS, "layer": range(1, LAYERS + 1)}))},
}


SITES = ("enc_enc", "enc_dec", "dec_dec")
EXPERIMENTS = {TRANSLATION: ("BLEU", SITES, 36.05), CLASSIFICATION: ("accuracy", SITES[:1], 84.6)}


def single_heads() -> pd.DataFrame:
    """Both experiments, all heads: most do nothing when they are masked, some much."""
    numbers, parts = generator(), []
    for name, (metric, kinds, baseline) in EXPERIMENTS.items():
        heads = all_heads(kinds)
        delta = np.where(numbers.random(len(heads)) < 0.6, 0, numbers.normal(-0.4, 0.8, len(heads)))
        delta[-1] = -13.56
        parts.append(heads.assign(experiment=name, metric=metric, baseline=baseline, delta=delta, score=baseline + delta))
    return pd.concat(parts).assign(n=12345, unit="sentences")


def michel_figure2() -> Inputs:
    rows = single_heads().assign(second_delta=lambda rows: rows["delta"] * 0.7, second_n=10000, second_baseline=30.0)
    rows["extreme"] = (rows["delta"] < -1.5).astype(int)
    ends = {"value": -0.56, "ci_low": -0.77, "ci_high": -0.21, "ci_examples_low": 0, "ci_examples_high": 1, "heads": 1152}
    facts = ends | {"n": 12345, "second_n": 10000, "second_data": "another corpus", "unit": "sentences"}
    agreement = combined({"experiment": list(EXPERIMENTS), "statistic": [PEARSON, SPEARMAN, TRIMMED]}, facts)
    agreement.loc[agreement.index[-1], "value"] = np.nan
    return {"correlation_heads": rows, "correlations": agreement}


def curve(keys: Inputs, baseline: Any, steepness: Any = 2, **facts: Any) -> pd.DataFrame:
    """Scores over the share of heads that are pruned."""
    rows = combined({**keys, "percent": range(0, 101, 5)}, {"count": 1, "heads": 1152, "n": 12345, "unit": "sentences"})
    rows["baseline"] = baseline(rows) if callable(baseline) else baseline
    power = steepness(rows) if callable(steepness) else steepness
    score = rows["baseline"] * (1 - (rows["percent"] / 100) ** power)
    return rows.assign(score=score, ci_low=score - 2, ci_high=score + 2, delta=score - rows["baseline"], **facts)


def michel_figure3() -> Inputs:
    parts = []
    for name, (metric, _, baseline) in EXPERIMENTS.items():
        facts = {"experiment": name, "metric": metric, "floor": 0 if name == TRANSLATION else 35.4}
        rows = curve({"order": list(ORDERS), "draw": range(5)}, baseline, lambda rows: 1 + rows["draw"], **facts)
        parts.append(rows[(rows["order"] == RANDOM) | (rows["draw"] == 0)])
    return {"pruning_curves": pd.concat(parts, ignore_index=True)}


def michel_figure5() -> Inputs:
    curves = curve({"epoch": [1, 2, 3, 5, 10, 20, 30, 40]}, lambda rows: 36 * (1 - 1 / (1 + rows["epoch"])), metric="BLEU")
    return {"training_curves": curves.assign(share=curves["score"] / curves["baseline"])}


MICHEL = {
    "figure1": lambda: {"ablation": single_heads().assign(p=0.004, p_adjusted=0.2)},
    "figure2": michel_figure2,
    "figure3": michel_figure3,
    "figure4": lambda: {"pruning_curves_by_kind": curve({"kind": SITES}, 36.05, metric="BLEU")},
    "figure5": michel_figure5,
}


SEEDS = ["0", "1", "2"]


def relative_attention() -> Inputs:
    value = noise(0.002)
    ends = {f"{kind}_{end}": value + side for kind in ("ci", "adjusted") for end, side in (("low", -0.003), ("high", 0.003))}
    rows = PLACES.assign(value=value, n=12345, unit="documents", **ends)
    return {"relative_attention": pd.concat([rows.assign(reduction=name) for name in ("mean", "max")])}


def head_ranking() -> Inputs:
    auc = 0.5 + noise(0.1)
    facts = {"cross_entropy_none": 0.5, "slide_entropy": 1.0, "share": 0.0123, "n": 1234567, "documents": 12345}
    ranking = PLACES.assign(auc=auc, auc_low=auc - 0.1, auc_high=auc + 0.1, slide_rank=range(1, len(PLACES) + 1), **facts)
    return {"head_ranking": ranking.assign(cross_entropy=0.5 - np.abs(noise(0.002))).sort_values("cross_entropy")}


def logistic_regression() -> Inputs:
    ends = ends_of(noise(0.3), 0.4, 0.4)
    facts = {"coefficient": ends.pop("value"), "permutation_importance": noise(1e-4), "mix_weight": 1 / len(PLACES)}
    return {"logistic_regression": PLACES.assign(**facts, **ends)}


def fine_tuning() -> Inputs:
    models = ["whole", "pruned", "pruned_on_test", "without_heads"]
    facts = {"heads_removed": 0, "value": 87.6, "ci_low": 80.0, "ci_high": 92.0, "documents": 12345}
    keys = {"seed": [*SEEDS, "mean"], "model": models, "metric": ["token_f1", "phrase_f1"]}
    return {"fine_tuning": combined(keys, facts, {"delta": -1.0, "delta_low": -32.0, "delta_high": -28.0})}


def ablation() -> Inputs:
    ends = {"ci_low": -1, "ci_high": 1, "adjusted_low": -1, "adjusted_high": 1, "p_adjusted": 0.04}
    rows = combined({"seed": [*SEEDS, "mean"]}, {"metric": "token_f1", "baseline": 87.6, "documents": 12345}, ends)
    rows = rows.merge(PLACES.assign(delta=noise(2)), how="cross").assign(value=lambda rows: 87.6 + rows["delta"])
    keys = {"seed": SEEDS, "order": list(REMOVAL_ORDERS), "draw": range(3), "percent": range(0, 101, 5)}
    removed = combined(keys | {"metric": ["token_f1", "phrase_f1"]}, {"documents": 12345})
    removed = removed[(removed["order"] == "random") | (removed["draw"] == 0)]
    steepness = 1 + removed["order"].map(list(REMOVAL_ORDERS).index) + 0.2 * removed["seed"].astype(int)
    removed = removed.assign(heads_removed=(3.84 * removed["percent"]).round().astype(int))
    removed["value"] = 87.6 * (1 - (removed["percent"] / 100) ** steepness)
    return {"ablation": rows, "cumulative_ablation": removed, **fine_tuning()}


def baselines() -> Inputs:
    rows = combined({"method": list(METHOD_TITLES), "metric": ["f1_at_5", "f1_at_10", "f1_at_m", "phrase_f1_all_occurrences"]})
    facts = {"phrases": 12, "documents": 12345, "development_documents": 12345, "reference": "tf_idf", "difference": 0.0}
    values = ends_of(np.linspace(3, 97, len(rows)), 3, 3)
    return {"baselines": rows.assign(encoder="a-sentence-encoder-with-a-long-name", **values, **facts)}


STEFANIK = {function.__name__: function for function in (relative_attention, head_ranking, logistic_regression, fine_tuning)}
STEFANIK |= {"ablation": ablation, "baselines": baselines}


EDGES = list(EDGE_TASKS)
SIZES = {"sentences": 12345, "targets": 123456, "unit": "documents", "units": 1234, "seeds": 3}


def tenney_figure1() -> Inputs:
    facts = {"layers": LAYERS, "f1_first": 100.0, "f1_last": 99.9, "training_targets": 1000}
    rows = combined({"task": EDGES}, SIZES, facts, {"expected_low": -300.0, "expected_high": 300.0})
    rows["expected_layer"] = np.where(np.arange(len(rows)) % 2, np.linspace(0, LAYERS, len(rows)), np.nan)
    rows["centre"] = np.linspace(LAYERS, 0, len(rows))
    rows = rows.assign(centre_low=rows["centre"] - 1, centre_high=rows["centre"] + 1)
    return {"summary_tasks": rows.assign(within_noise=rows["expected_layer"].isna().astype(int), at_step_limit=0.0)}


def bars(model: str) -> pd.DataFrame:
    """Of the last task, a vanishing gain: one of its shares is 9,800 %."""
    facts = {"model": model, "k_s": 0.11, "k_delta": 1.23, "f1": 98.7, "delta": 0.5}
    rows = combined({"task": EDGES, "layer": range(LAYERS + 1)}, SIZES, facts)
    weight, last = 0.04 + 0.03 * chance(rows), rows["task"] == EDGES[-1]
    rows = rows.assign(weight=weight, weight_low=weight - 0.01, weight_high=weight + 0.02, within_noise=last.astype(int))
    rows["share"] = np.where(last & (rows["layer"] == 3), 98.0, generator().normal(0.04, 0.1, len(rows)))
    return rows.assign(share_low=rows["share"] - 0.05, share_high=rows["share"] + 0.08)


def tenney_figure3() -> Inputs:
    keys = {"sentence": range(1, 9), "task": ["roles", "constituents", "coreference", "relations"], "layer": range(LAYERS + 1)}
    texts = {"words": "the $5 prestidigitator who had been " * 20, "span1": "a long span of many words " * 3}
    facts = texts | {"source": "development", "id": "an-id", "target": 0, "span2": "another long span of words"}
    rows = combined({**keys, "gold": [0, 1]}, facts)
    rows["label"] = np.where(rows["gold"] == 1, "Component-Whole(e2,e1)", "Entity-Destination(e1,e2)")
    return {"traces": rows.assign(probability=chance(rows))[FIGURE3]}


TENNEY = {
    "figure1": tenney_figure1,
    "figure2": lambda: {"summary_layers": bars(MODEL)},
    "figure_a3": lambda: {"second_model_layers": bars(f"{MODEL}-second"), "summary_layers": bars(MODEL)},
    "figure3": tenney_figure3,
}


def correlations() -> Inputs:
    measures = [measure for source in SOURCES for measure in source.measures if measure.unit]
    pairs = pd.DataFrame(combinations([measure.name for measure in measures], 2), columns=["measure_a", "measure_b"])
    facts = {"ci_low": -1, "ci_high": 1, "within_layers": 0, "p": 0.001, "p_holm": 0.01, "n": LAYERS * HEADS}
    pairs = pairs.assign(spearman=generator().uniform(-1, 1, len(pairs)), **facts, definitional=pairs.index == 3)
    titles = pd.DataFrame([{"measure": measure.name, "title": measure.title} for measure in measures])
    return {"correlations": pairs[CORRELATIONS], "measures": titles}


INPUTS: dict[str, dict[str, Callable[[], Inputs]]] = {
    **{"clark2019": CLARK, "guan2020": GUAN, "kovaleva2019": KOVALEVA, "michel2019": MICHEL, "stefanik2021": STEFANIK},
    **{"tenney2019": TENNEY, "atlas": {"correlations": correlations}},
}
