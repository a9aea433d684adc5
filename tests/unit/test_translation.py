"""Translation models: initialised, trained, and translating under a plan, against slow references."""

import copy

import pandas as pd
import pytest
import torch
from first_gradients import assert_parts_give_the_gradient_of_the_batch
from sample_corpus.parallel import parallel_lines
from small_entries import FILE_ORDER

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import DECODER_CROSS, DECODER_SELF, ENCODER_SELF, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.alignment import open_tokenizer
from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.fine_tuning import fine_tune, write_untrained_model
from attention_atlas.models.loading import describe, epoch_loaders, load_trained
from attention_atlas.models.task_heads import search, translate_under
from attention_atlas.studies.michel2019.experiments import masked, open_experiment

SHAPE = {"layers": 2, "heads": 4, "hidden_size": 16, "feed_forward": 32, "positions": 48, "vocabulary": 300}
TRAINING = {
    **{"task": "translation", "regression": False, "epochs": 2, "batch": 8, "learning_rate": 0.01, "warmup": 0.1},
    **{"weight_decay": 0.01, "seed": 1, "optimiser": "adamw", "label_smoothing": 0.1, "beta2": 0.98},
}
ENTRY = {"layers": 2, "heads": 4, "hidden_size": 16, "seed": 0, "dtype": "float32"}
CORPUS = {"reader": "parallel", "languages": ["en", "fr"], "max_tokens": 48, "shard": 64, **FILE_ORDER}


@pytest.fixture(scope="module")
def new_model(tmp_path_factory):
    """A new model with its card and the examples of sixty pairs."""
    folder = tmp_path_factory.mktemp("untrained")
    raw = folder / "raw.jsonl"
    raw.write_text("".join(parallel_lines(60, 3)), encoding="utf-8")
    write_untrained_model({**SHAPE, **FILE_ORDER, "languages": ["en", "fr"], "records": 60}, [raw], folder / "untrained")
    entry = {"source": {"path": str(folder / "untrained")}, "init": "random", **ENTRY}
    describe("new", entry, folder / "card.json", folder / "tokenizer.json")
    build_shard(CORPUS, raw, folder / "tokenizer.json", 48, 0, folder / "e.parquet", folder / "d.tsv")
    return folder, entry


def train(new_model, folder, **changed):
    source, entry = new_model
    out = (folder / "checkpoint", folder / "summary.tsv", folder / "epochs.safetensors")
    fine_tune(entry, source / "card.json", [source / "e.parquet"], 60, TRAINING | changed, 1, *out)
    return folder / "checkpoint"


@pytest.fixture(scope="module")
def trained(new_model, tmp_path_factory):
    """The model after a little training, with the engine, its examples and tokenizer, and its folder."""
    folder = train(new_model, tmp_path_factory.mktemp("trained"), epochs=3, keep_epochs=[1, 3])
    entry = {**new_model[1], "source": {"path": str(folder)}, "init": "pretrained"}
    examples = list(read_examples([new_model[0] / "e.parquet"]))
    return load_trained(entry, "translation"), examples[:12], open_tokenizer(new_model[0] / "tokenizer.json"), folder


def test_training_lowers_the_loss_also_in_parts(new_model, trained, tmp_path):
    losses = pd.read_csv(trained[3].parent / "summary.tsv", sep="\t")["loss"]
    assert losses.iloc[-1] < losses.iloc[0] - 0.3
    assert_parts_give_the_gradient_of_the_batch(lambda: train(new_model, tmp_path, dropout=0.0))


def test_weights_after_some_epochs_are_kept(trained):
    path = trained[3].parent / "epochs.safetensors"
    loaders = epoch_loaders(path)
    model, last = copy.deepcopy(trained[0]), trained[0].state_dict()
    loaders[1](model)
    assert not torch.equal(model.state_dict()["model.shared.weight"], last["model.shared.weight"])
    assert torch.equal(model.lm_head.weight, model.model.encoder.embed_tokens.weight), "shared weights stay shared"
    loaders[3](model)
    assert all(torch.equal(weights, last[name]) for name, weights in model.state_dict().items())
    with pytest.raises(AtlasError, match="epoch 3 has no"):
        loaders[3](torch.nn.Linear(2, 2))


@pytest.fixture(scope="module")
def wild(trained):
    """The same model with large random weights, whose translations depend on everything."""
    model = copy.deepcopy(trained[0])
    torch.manual_seed(2)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.ndim > 1 and "positions" not in name:
                weights.normal_(0, 0.5)
    return model, *trained[1:3]


def translate(model, examples, pad, tokenizer, plan=None, beams=5, batch_tokens=4096):
    """A whole search under one plan, by itself."""
    translations = {}
    for batch in batch_by_length(examples, batch_tokens):
        inputs = model_inputs(model, batch, pad)
        with torch.inference_mode(), watch(model, plan=plan):
            pieces = model.generate(**inputs, **search(model, inputs["input_ids"].shape[1], beams))
        translations.update(zip((e.record for e in batch), tokenizer.decode_batch(pieces.tolist()), strict=True))
    return [translations[example.record] for example in examples]


def greedy(model, example, longest):
    """One token after the other, each from a whole pass over everything before it."""
    source, pieces = torch.tensor([example.input_ids]), [model.config.decoder_start_token_id]
    while len(pieces) <= longest and pieces[-1] != model.config.eos_token_id:
        with torch.inference_mode():
            scores = model(input_ids=source, decoder_input_ids=torch.tensor([pieces]), use_cache=False).logits[0, -1]
        pieces.append(int(scores.argmax()))
    return pieces


def test_a_search_with_one_beam_is_the_greedy_loop(wild):
    model, examples, tokenizer = wild[0], wild[1][:5], wild[2]
    # The longest sentence of a batch sets the bound of all.
    bound = search(model, max(len(example.input_ids) for example in examples), 1)["max_new_tokens"]
    translations = translate(model, examples, 0, tokenizer, beams=1)
    assert translations == [tokenizer.decode(greedy(model, example, bound)) for example in examples]


def test_many_plans_at_once_give_what_each_gives_by_itself(wild):
    model, examples, tokenizer = wild[0], wild[1][:3], wild[2]
    both = Plan().zero(2, 3, ENCODER_SELF).zero(1, 2, DECODER_CROSS).zero(2, [1, 4], DECODER_SELF)
    plans = [Plan().zero(2, 1, DECODER_SELF), both, Plan().zero(1, 2, ENCODER_SELF)]
    together = translate_under(model, examples, 0, tokenizer, plans, beams=2, batch_tokens=60)
    assert together == [translate(model, examples, 0, tokenizer, plan, beams=2, batch_tokens=60) for plan in (None, *plans)]
    assert len({tuple(texts) for texts in together}) == 4


def test_translations_under_every_mask(new_model, trained):
    model, examples, tokenizer, folder = trained
    entry = {**new_model[1], "source": {"path": str(folder)}, "init": "pretrained"}
    files = {name.partition(".")[0]: new_model[0] / name for name in ("card.json", "tokenizer.json")}
    experiment = open_experiment({"reader": "parallel", "model": entry, **files, "beams": 2})
    table, _, further = masked(experiment, examples[:5], examples[:3], examples[:2]).values()
    assert len(further) == 2 * (1 + 3 * 2), "the best head of each layer"
    rows = table[(table["masked"] == "others") & (table["kind"] == "enc_dec") & (table["layer"] == 2) & (table["head"] == 3)]
    plan = Plan().zero(2, [1, 2, 4], DECODER_CROSS)
    assert rows["answer"].tolist() == translate(model, examples[:5], 0, tokenizer, plan, beams=2)
