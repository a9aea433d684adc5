"""Published numbers that follow from other published numbers, within the rounding of all of them: a check of the CSV files."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache

import numpy as np
import pytest

from attention_atlas.io.files import RESOURCES
from attention_atlas.published.values import Number, Published, half_unit, load_published
from attention_atlas.studies.tenney2019.summary import (
    centre_of_gravity,
    differential_scores,
    divergence_of_weights,
    expected_layer,
)

Formula = Callable[[np.ndarray], float]  # from all inputs, one after the other, to the value


def points(numbers: np.ndarray) -> np.ndarray:
    """Percentage points by which the first half of some shares exceeds the second half."""
    return 100 * np.subtract(*np.split(numbers, 2))


def largest_change(numbers: np.ndarray) -> float:
    """In percentage points: of twelve layers of seven tasks from its baseline, and of the best head of each task from its."""
    layers, heads, without_layer, without_head = np.split(numbers, [84, 91, 98])
    return float(points(np.concatenate([layers, heads, np.repeat(without_layer, 12), without_head])).max())


CONTRADICTIONS = {
    *("t1_all_acc", "t1_all_baseline", "t1_auxpass_acc", "t1_auxpass_baseline", "g_diag", "m19.sec43.param_bert"),
    *(f"k_f8_{task}_base" for task in ("mrpc", "sts-b", "qqp", "rte", "qnli", "mnli")),
}
"""Values that do not follow; each has a note that says so."""
_GAIN = "k_t1_*_acc_pretrained_init_finetuned; k_t1_*_acc_pretrained_no_finetuning"
_HEADS, _ALL = "k_f8_*_max; k_f8_*_base", "k_f9_*_L*; k_f8_*_max; k_f9_*_base; k_f8_*_base"
# A study, a pattern of ids, a formula, and its inputs: ids with *, `id@detail` (1 for true, 0 for false), numbers that are
# fixed by definition, and `table.column(name=value, ...)` of numbers that were read off a figure, whatever the case of values.
FOLLOWING: Sequence[tuple[str, str, Formula, str]] = (
    ("clark2019", r"(t1_(?:all|p\w+|det|nn|nsubj|amod|dobj|adv\w+|aux\w*|ccomp|mark)_(?:acc|baseline))", np.sum, r"nb_\1"),
    ("clark2019", "t2_head5_4_all", np.sum, "fig5_coref_5_4"),
    ("clark2019", "txt_sep_expected", lambda x: x[0] / x[1], "2; txt_max_len"),
    ("clark2019", "txt_cls_entropy_l12", lambda x: x[-1], "dig_ent_cls"),
    ("clark2019", "txt_best_uas", np.array, "t1_all_acc; t1_all_baseline"),
    ("clark2019", "nb_dev_sentences", np.sum, "nb_count_root"),
    ("guan2020", "g_diag(?:_repaired)?", lambda x: 100 - x.sum(), "g_dense; g_dv; g_vert"),
    ("kovaleva2019", "k_t1_mrpc_f1_random_normal_init_finetuned", lambda x: 200 * x[0] / (100 + x[0]), "k_t1_mrpc_acc_random*"),
    ("kovaleva2019", "k_t1_mean_gain", lambda x: points(x).mean() / 100, _GAIN),
    ("kovaleva2019", "k_41_het_min", np.sum, "k_f2_mrpc_heterogeneous; k_f2_mrpc_block"),
    ("kovaleva2019", "k_41_het_max", np.sum, "k_f2_qqp_heterogeneous; k_f2_qqp_block"),
    ("kovaleva2019", "k_42_a", np.sum, "k_f3_L1H2"),
    ("kovaleva2019", "k_42_b", np.sum, "k_f3_L7H6"),
    ("kovaleva2019", r"k_f5_(.+)_L(\d+)", np.mean, r"fig5_cosine.cosine(task=\1, layer=\2)"),
    ("kovaleva2019", r"k_f6_(cls|sep)_(.+)_L(\d+)", np.mean, r"fig6_sep_cls.mean_weight(token=\1, task=\2, layer=\3)"),
    ("kovaleva2019", r"k_f7_(.+)_(cls|sep)_tok", np.mean, r"fig7_cls_last_layer.weight(task=\1, feature=[\2])"),
    ("kovaleva2019", r"k_f7_(.+)_(neg|noun|obj|pron|subj|verb)", np.mean, r"fig7_cls_last_layer.weight(task=\1, feature=\2)"),
    ("kovaleva2019", r"k_f8_(.+)_max", np.max, r"fig8_disable_head.score(task=\1)"),
    ("kovaleva2019", r"k_f8_(.+)_min", np.min, r"fig8_disable_head.score(task=\1)"),
    ("kovaleva2019", r"k_f8_(.+)_meandelta", lambda x: 100 * x.mean(), r"fig8_disable_head.delta_vs_baseline(task=\1)"),
    ("kovaleva2019", r"k_f8_(.+)_frac", lambda x: (x > 0).mean(), r"fig8_disable_head.delta_vs_baseline(task=\1)"),
    ("kovaleva2019", r"k_f8_(mrpc|qqp)_base", lambda x: x[0] / 100, r"k_t1_\1_f1_pretrained_init_finetuned"),
    ("kovaleva2019", r"k_f8_(rte|qnli)_base", lambda x: x[0] / 100, r"k_t1_\1_acc_pretrained_init_finetuned"),
    ("kovaleva2019", r"k_f8_(sts|sst)-(b|2)_base", lambda x: x[0] / 100, r"k_t1_\1\2_acc_pretrained_init_finetuned"),
    ("kovaleva2019", "k_f8_mnli_base", lambda x: x[0] / 100, "k_t1_mnlim_acc_pretrained_init_finetuned"),
    ("kovaleva2019", "k_46_min", lambda x: points(x).min(), _HEADS),
    ("kovaleva2019", "k_46_max", lambda x: points(x).max(), _HEADS),
    ("kovaleva2019", "k_46_layer_rte", lambda x: points(x)[0], "k_f9_rte_L1; k_f9_rte_base"),
    ("kovaleva2019", "k_46_layer_drop", lambda x: points(x).min(), "k_f9_[qm]nli_L1; k_f9_[qm]nli_base"),
    ("kovaleva2019", "k_abs_max", largest_change, _ALL),
    ("kovaleva2019", r"k_nb_(.+)_(base|finetuned)", np.array, r"notebook_qqp_features.value(feature=\1, model=\2)"),
    ("michel2019", "m19.tab1.n_significant", np.sum, "m19.tab1.L*@significant_p01"),
    ("michel2019", "m19.sec33.layers_ok_wmt", lambda x: 100 * (1 - x.mean()), "m19.tab5.L*@significant_p01"),
    ("michel2019", "m19.sec33.layers_ok_bert", lambda x: 100 * (1 - x.mean()), "m19.tab6.L*@significant_p01"),
    ("michel2019", r"(m19.tab4.b\d+).speedup", lambda x: 100 * (x[0] / x[1] - 1), r"\1.pruned50; \1.original"),
    ("michel2019", "m19.sec43.param_wmt", lambda x: 100 / x[0], "16"),
    ("michel2019", "m19.sec43.param_bert", lambda x: 100 / x[0], "12"),
    ("michel2019", "m19.rerun.mnli.base_acc", lambda x: x[0], "m19.rerun.mnli.importance_curve"),
    ("tenney2019", r"(.+)\.f1_l0", lambda x: x[0], r"\1.f1_by_layer"),
    ("tenney2019", r"(.+)\.f1_l(?:12|24)", lambda x: x[-1], r"\1.f1_by_layer"),
    ("tenney2019", r"(.+)\.expected_layer", expected_layer, r"\1.f1_by_layer"),
    ("tenney2019", r"(.+)\.K_delta", lambda x: divergence_of_weights(differential_scores(x)), r"\1.f1_by_layer"),
    ("tenney2019", r"(t19\.large\..+)\.cog", centre_of_gravity, r"\1.mix_weights"),
    ("tenney2019", r"(t19\.large\..+)\.K_s", divergence_of_weights, r"\1.mix_weights"),
)


@cache
def read_off(table: str, column: str, conditions: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of a digitised table, and half a unit of their last digit; trailing zeros are lost in some."""
    with (RESOURCES / "published" / "digitised" / f"{table}.csv").open(encoding="utf-8", newline="") as handle:
        wanted = dict(part.split("=") for part in conditions.lower().split(", "))
        texts = [row[column] for row in csv.DictReader(handle) if all(row[key].lower() == wanted[key] for key in wanted)]
    assert texts, f"{table}: no row has {conditions}"
    exponent = min(int(Decimal(text).as_tuple().exponent) for text in texts)
    return np.array(texts, dtype=float), np.full(len(texts), 0.5 * 10.0 ** min(exponent, 0))


def numbers_of(text: str, published: dict[str, Published]) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of the inputs of a formula, and half a unit of the last printed digit of each (0 for what is exact)."""
    parts = []
    for token in text.split("; "):
        pattern, _, detail = token.partition("@")
        sources = [value for name, value in published.items() if fnmatchcase(name, pattern)]
        if match := re.fullmatch(r"(\w+)\.(\w+)\((.*)\)", token):
            parts.append(read_off(match[1], match[2], match[3]))
        elif detail:
            flags = [{"true": 1.0, "false": 0.0}[value.details[detail]] for value in sources]
            parts.append((np.array(flags), np.zeros(len(flags))))
        elif sources:
            pairs = [(float(number.value), half_unit(number, value.tolerance)) for value in sources for number in value.numbers]
            numbers, errors = zip(*pairs, strict=True)
            parts.append((np.array(numbers), np.array(errors)))
        else:
            parts.append((np.array([float(token)]), np.zeros(1)))
    numbers, errors = zip(*parts, strict=True)
    return np.concatenate(numbers), np.concatenate(errors)


def result_and_bound(formula: Formula, numbers: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """The value, and how far rounding can move it: the sum of the changes by moving each input to the ends of its rounding."""
    result, bound = float(formula(numbers)), 0.0
    for place in np.flatnonzero(errors):
        moved = numbers + np.outer((-1, 1), np.where(np.arange(len(numbers)) == place, errors, 0))
        bound += max(abs(float(formula(ends)) - result) for ends in moved)
    return result, bound


def followed(study: str, pattern: str, formula: Formula, inputs: str) -> Iterator[tuple[Published, Number, float, float]]:
    """Values whose ids fit the pattern: each of their numbers, what follows from the inputs, and how far they may differ."""
    published = load_published(study)
    for value in published.values():
        if match := re.fullmatch(pattern, value.id):
            numbers, errors = numbers_of(match.expand(inputs), {k: v for k, v in published.items() if k != value.id})
            for place, number in enumerate(value.numbers):
                # Of several numbers, one has the name of its formula, or follows from the input at its place.
                named = {"max": np.max, "mean": np.mean}.get(number.part)
                of_place = named or (lambda x, place=place: x[place]) if formula is np.array else formula
                result, bound = result_and_bound(of_place, numbers, errors)
                yield value, number, result, bound + half_unit(number, value.tolerance) + 1e-9 * max(abs(result), 1)


@pytest.mark.parametrize(("study", "pattern", "formula", "inputs"), FOLLOWING, ids=[row[1] for row in FOLLOWING])
def test_numbers_follow_from_others_or_a_note_says_why_not(study, pattern, formula, inputs):
    rows = list(followed(study, pattern, formula, inputs))
    assert rows, "no value has such an id"
    for value, number, result, allowed in rows:
        agrees = abs(result - float(number.value)) <= allowed
        assert agrees == (value.id not in CONTRADICTIONS), f"{value.id}: {result:.6g} ± {allowed:.1g}, printed {number.value}"
        assert agrees or value.note, f"{value.id}: a contradiction needs a note"


def test_a_slip_in_an_input_is_found():
    published = load_published("tenney2019")
    numbers, errors = numbers_of("t19.base.coref.f1_by_layer", published)
    numbers[3] += 0.5
    result, bound = result_and_bound(expected_layer, numbers, errors)
    (number,) = published["t19.base.coref.expected_layer"].numbers
    assert abs(result - float(number.value)) > bound + half_unit(number, None)
    # 10.0 and 4.0 stand for 9.95 .. 10.05 and 3.95 .. 4.05: their difference is 5.9 .. 6.1.
    errors = np.array([0.05, 0.05])
    assert result_and_bound(lambda x: x[0] - x[1], np.array([10.0, 4.0]), errors) == pytest.approx((6, 0.1))
