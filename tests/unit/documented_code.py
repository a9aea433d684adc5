"""Python in the documentation, with tiny models and a tiny built run in place of those that it names."""

import re
from pathlib import Path

import pandas as pd
from small_shards import write_example_shards
from small_tokenizer import save_tokenizer
from tiny_models import HEADS, LAYERS, VOCABULARY, WIDTH, tiny
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

DOCS = Path(__file__).parents[2] / "docs"
DET = ((1, 2), (3, 1))  # heads that follow det


def code_of(page: str, folder: Path, until: str = "\n## No such section") -> str:
    """The Python of a page, up to a section, on what `write_inputs` writes to a folder."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(until)[0]
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    return re.sub(r'name = "(.*)/(.*)"', rf'name = "{folder}/\2"', code)


def write_inputs(folder: Path) -> Path:
    """Models by the last part of their names on the hub, and results/sample."""
    shape = {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_ff": 32, "d_kv": 4, "num_layers": 2, "num_heads": HEADS}
    models = {"bert-base-uncased": tiny("bert_mlm"), "roberta-base": tiny("bert_mlm", seed=1)}
    models["t5-small"] = T5ForConditionalGeneration(T5Config(**shape, decoder_start_token_id=0))
    for name, model in models.items():
        model.save_pretrained(folder / name)
        words = (".", "sat", "mat", "##t") if name == "roberta-base" else (".", "the", "cat", "##s")
        file = save_tokenizer(folder / name / "tokenizer.json", words)
        names = {f"{token}_token": f"[{token.upper()}]" for token in ("pad", "unk", "cls", "sep")}
        PreTrainedTokenizerFast(tokenizer_file=str(file), **names).save_pretrained(folder / name)
    atlas = folder / "results/sample/atlas"
    cache = folder / "results/sample/attention/minilm/sample-trees"
    cache.mkdir(parents=True)
    write_example_shards(cache, (5, 7, 4), LAYERS, HEADS)
    for model, q in (("minilm", 0.01), ("minilm-random-1", 0.6)):
        (atlas / "models" / model).mkdir(parents=True)
        relations = pd.DataFrame(DET, columns=["layer", "head"]).assign(relation="det", accuracy=0.8, margin=0.3, q=q)
        relations.to_csv(atlas / f"models/{model}/dependency_head_relations.tsv", sep="\t", index=False)
    places = [(layer, head) for layer in range(1, LAYERS + 1) for head in range(1, HEADS + 1)]
    rows = [(*place, "det" if place in DET else "none", 0.5 * (place in DET), 0.1 + 0.2 * (place in DET)) for place in places]
    heads = pd.DataFrame(rows, columns=["layer", "head", "chosen_relation", "ablation_zero", "relation_margin"])
    heads.assign(model="minilm").to_csv(atlas / "heads.tsv", sep="\t", index=False)
    pd.DataFrame({"measure": ["entropy"], "unit": ["nats"]}).to_csv(atlas / "measures.tsv", sep="\t", index=False)
    return folder
