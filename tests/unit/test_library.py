"""The library as others use it: the pages on heads and notebooks run, names are loaded lazily, and a text has its maps."""

import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from documented_code import DET, DOCS, code_of, write_inputs
from tiny_models import HEADS, LAYERS, WIDTH, tiny
from transformers import AutoTokenizer

import attention_atlas as atlas
from attention_atlas.errors import AtlasError

SIZE = WIDTH // HEADS


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("documented"))


def without(layer, heads):
    """A model without heads of a layer (all from 1), by zeroed columns of its output projection."""
    model = tiny("bert_mlm")
    for head in heads:
        weights = model.bert.encoder.layer[layer - 1].attention.output.dense.weight.data
        weights[:, (head - 1) * SIZE : head * SIZE] = 0
    return model


def test_the_page_on_heads_gives_what_it_says(inputs, monkeypatch):
    texts = ((DOCS / name).read_text(encoding="utf-8") for name in ("heads.md", "models-matrix.md"))
    ours, counts = (re.findall(r"\bOf (\d+) .*?(\d+) work.*?(\d+)\s.*?(\d+) are refused", text, re.DOTALL) for text in texts)
    assert ours == counts != [], "the counts of the matrix"
    monkeypatch.chdir(inputs)
    page: dict = {}
    exec(code_of("heads.md", inputs), page)
    arguments = {**page["inputs"], "labels": page["labels"]}
    with torch.no_grad():
        changed = without(3, [4])(**arguments).loss - tiny("bert_mlm")(**arguments).loss
        torch.testing.assert_close(page["effect"][2, 3], changed, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(page["logits"], without(3, [1, 2, 3, 4])(**arguments).logits)
    example, tokenized = page["example"], page["tokenizer"]("The cat sat.", return_tensors="pt")
    reference = tiny("bert_mlm")(**tokenized, output_attentions=True).attentions
    assert example.tokens == tuple(page["tokenizer"].convert_ids_to_tokens(tokenized["input_ids"][0]))
    assert np.abs(example.maps - torch.cat(reference).detach().numpy()).max() < 1e-3
    assert example.words == ("[CLS]", "The", "cat", "sat.", "[SEP]")
    assert page["gradient"].shape == (1, LAYERS, HEADS)
    assert 0.05 < np.abs(page["weighted"] - example.maps).max() < 1
    assert page["both"][1].tokens != example.tokens
    assert page["first"].shape == page["second"].shape == (LAYERS, HEADS, 3, 3)
    assert page["weights"].shape[1:3] == (HEADS, page["source"]["input_ids"].shape[1])
    assert [len(row["tokens"]) for row in page["data"]] == [row["maps"].shape[-1] for row in page["data"]] == [5, 7, 4]


def test_the_three_questions_of_the_page_on_notebooks_have_answers(inputs, monkeypatch):
    monkeypatch.chdir(inputs)
    page: dict = {}
    exec(code_of("notebook.md", inputs, "\n## Tables and figures"), page)
    assert page["follow"].index.unique("model").tolist() == ["minilm"]
    assert list(map(tuple, page["follow"][["layer", "head"]].to_numpy())) == [*DET]
    assert page["changes"]["mean"].tolist() == pytest.approx([0, 0.5])
    assert len(page["axis"].collections[0].get_offsets()) == LAYERS * HEADS
    assert (inputs / "det.pdf").stat().st_size > 1000


def test_the_library_is_imported_without_torch_and_names_what_it_lacks(inputs, monkeypatch):
    check = (
        "import sys, attention_atlas as a; assert not {'torch', 'pandas', 'numpy'} & {*sys.modules}; assert 'maps' in dir(a)"
    )
    subprocess.run([sys.executable, "-c", check], check=True, env={"PYTHONPATH": "workflow/lib"}, cwd=DOCS.parent)
    with pytest.raises(AttributeError, match="has no head_mask"):
        _ = atlas.head_mask
    with pytest.raises(AtlasError, match=r"heads\.tsv: there is no such table\. Name the folder of a run"):
        atlas.load(inputs)
    model, tokenizer = tiny("bert_mlm"), AutoTokenizer.from_pretrained(inputs / "bert-base-uncased")
    with pytest.raises(AtlasError, match="object is no fast tokenizer"):
        atlas.maps(model, object(), "the cat")
    with pytest.raises(AtlasError, match="the text has no maps: too long"):
        atlas.maps(model, tokenizer, "cat " * 50)
    assert atlas.maps(model, tokenizer, ["cat", "."]).words == ("[CLS]", "cat", ".", "[SEP]")
