"""Models of a folder: the atlas of a decoder with causal attention, without [CLS] and [SEP]."""

from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaModel, PreTrainedTokenizerFast
from workspaces import Workspace

from attention_atlas.atlas.page import data_of_page
from tools.atlas import overlay

SMALLER = """
sample: {documents: 16, train_documents: 12}
corpora: {sample-keyphrases: {max_tokens: 512}}  # in bytes
runs:
  any:
    clark2019: {min_count: 5, resamples: 100}
    stefanik2021: {resamples: 100, fits: 10, folds: 3, permutations: 1}
    atlas: {resamples: 100, shuffles: 100, head_scores: {inputs: 8, random_models: 3}}
    limits: {sample-trees: 40, sample-coreference: 8, sample-keyphrases: 14}
"""


def save_decoder(folder: Path) -> None:
    """A small decoder with a tokenizer that encodes text as <s> and its bytes."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 32, "max_position_embeddings": 512}
    shape = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    LlamaModel(LlamaConfig(**sizes, **shape)).save_pretrained(folder)
    pieces = ["<unk>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)])
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **names).save_pretrained(folder)


@pytest.mark.long
def test_the_atlas_of_a_decoder_on_plain_sentences(workspace):
    save_decoder(workspace.folder / "decoder")
    # As bytes the second sentence is longer than the model can read.
    (workspace.folder / "my.txt").write_text(f"Dogs bark.\n\n{'word ' * 130}\nIt rains.\n", encoding="utf-8")
    run, added = overlay(str(workspace.folder / "decoder"), workspace.folder / "my.txt")
    (workspace.folder / "smaller.yaml").write_text(SMALLER, encoding="utf-8")
    (workspace.folder / "added.yaml").write_text(yaml.safe_dump(added), encoding="utf-8")
    Workspace(workspace.folder, warm=True).snakemake("--configfile", "config.yaml", "smaller.yaml", "added.yaml", "--", "atlas")
    folder = workspace.folder / "results" / run / "atlas"
    heads, measures = (pd.read_csv(folder / f"{name}.tsv", sep="\t") for name in ("heads", "measures"))
    assert len(heads) == 8
    assert {"entropy", "previous_token", "best_relation", "coreference", "keyphrase_auc"} <= set(heads)
    notes = measures.set_index("measure")["note"]
    assert notes["to_sep"].endswith("this measure does not apply to this model or corpus")
    assert notes["next_token"], "a causal head does not look ahead"
    data = data_of_page((folder / "atlas.html").read_text(encoding="utf-8"))
    assert [sentence["text"] for sentence in data["sentences"]] == ["Dogs bark.", "It rains."]
    assert data["shown_note"].startswith("2 of 3 sentences shown, 1 dropped as too long (line 3: ")
