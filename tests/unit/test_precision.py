"""Precision of matrix products on a GPU: what it sets, which jobs it makes run again, and what it is not compared with."""

import pytest
import torch
from shipped_runs import shipped, shipped_copy, wildcards
from small_config import SHIPPED
from tiny_models import tiny
from transformers import AutoModel

from attention_atlas.errors import AtlasError
from attention_atlas.io.run_label import RunLabel
from attention_atlas.models.devices import DEVICE_VARIABLE, set_gpu_precision
from attention_atlas.models.loading import initialised
from attention_atlas.published.compare import EXACT, NO
from attention_atlas.published.matching import sameness
from attention_atlas.published.values import load_published
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.shared_inputs import SharedInputs
from attention_atlas.workflow.study_inputs import StudyInputs


@pytest.fixture(autouse=True)
def as_before():
    """The precision of this process is that of before once a test ends."""
    before = torch.backends.cuda.matmul.fp32_precision
    yield
    torch.backends.cuda.matmul.fp32_precision = before


@pytest.fixture(scope="module")
def tf32():
    """The shipped configuration in tf32."""
    return shipped_copy() | {"gpu_precision": "tf32"}


@pytest.mark.parametrize(
    ("entry", "expected"), [({}, "ieee"), ({"gpu_precision": "float32"}, "ieee"), ({"gpu_precision": "tf32"}, "tf32")]
)
def test_the_precision_is_set_for_products_on_a_gpu_alone(entry, expected):
    left, right = torch.randn(2, 64, 64)
    product, on_cpu = left @ right, torch.backends.mkldnn.matmul.fp32_precision
    set_gpu_precision(entry)
    assert torch.backends.cuda.matmul.fp32_precision == expected
    assert torch.backends.mkldnn.matmul.fp32_precision == on_cpu
    assert torch.equal(left @ right, product)


def test_it_is_set_wherever_a_model_is_made_also_by_jobs_that_need_no_gpu(monkeypatch, tmp_path):
    """With `device: cuda`, jobs without a GPU load models on a CPU of a cluster."""
    monkeypatch.setenv(DEVICE_VARIABLE, "cuda")
    tiny("bert").save_pretrained(tmp_path)
    entry = {"source": {"path": str(tmp_path)}, "dtype": "float32", "init": "pretrained", "seed": 0}
    for settings, expected in (({}, "ieee"), ({"gpu_precision": "tf32"}, "tf32"), ({"init": "random"}, "ieee")):
        initialised(AutoModel, entry | settings)
        assert torch.backends.cuda.matmul.fp32_precision == expected


def test_another_precision_is_a_parameter_of_jobs_with_models_and_the_default_is_none(tf32):
    for name in ("bert-base-uncased", "bert-base-glue-mrpc-42", "bert-large-wwm-squad", "minilm-squad"):
        default, changed = (SharedInputs(config).weights_entry("paper", name) for config in (shipped(), tf32))
        assert "gpu_precision" not in default
        assert changed == default | {"gpu_precision": "tf32"}
    inputs = StudyInputs(tf32, "kovaleva2019")
    wild = wildcards("sample", task="mrpc", seed=42)
    assert inputs.of_seed("tasks")(wild)["gpu_precision"] == "tf32"
    trained = wildcards("sample", model="minilm-squad")
    for entry in (inputs.base_entry(trained), inputs.model_entry(trained)):
        assert entry["gpu_precision"] == "tf32"


@pytest.mark.parametrize("study", ["clark2019", "guan2020", "michel2019", "tenney2019"])
def test_its_values_are_not_compared_with_published_ones(tf32, study):
    kinds = {}
    for name, config in (("float32", shipped()), ("tf32", tf32)):
        inputs = StudyInputs(config, study)
        if study == "tenney2019":
            labels = inputs.labels("tasks")(wildcards("paper"))
        else:
            roles = {"clark2019": "dependencies", "guan2020": "questions", "michel2019": "classification"}
            labels = inputs.labels(roles[study])(wildcards("paper"))
        labels = {role: RunLabel(**label) for role, label in labels.items()}
        values = [value for value in load_published(study).values() if "model" in value.same and value.role in labels]
        kinds[name] = {value.id: sameness(value, labels) for value in values}
    compared = [value for value, kind in kinds["float32"].items() if kind.comparable not in (NO, "qualitative", "setting")]
    assert compared
    if study == "clark2019":
        assert any(kinds["float32"][value].comparable == EXACT for value in compared)
    for value in compared:
        assert kinds["tf32"][value].comparable == NO
        assert kinds["tf32"][value].why.split(" instead of ")[0].endswith(" (tf32)")
        assert kinds["tf32"][value].obstacle == "another model"


def test_tables_and_figures_name_the_precision(tf32):
    for study, group in (("kovaleva2019", "tasks"), ("stefanik2021", "tagging")):
        made = [StudyInputs(config, study).labels(group)(wildcards()) for config in (shipped(), tf32)]
        default, changed = (next(iter(labels.values())) for labels in made)
        assert changed["model"] == f"{default['model']} (tf32)"
        assert "tf32" in RunLabel(**changed).line


def test_an_unknown_precision_is_refused_by_name():
    with pytest.raises(AtlasError, match=r"gpu_precision: 'bf16' is not one of float32, tf32"):
        resolve(SHIPPED | {"gpu_precision": "bf16"})
