"""Every text model type of the installed transformers as a tiny random model: which of them the attention engine serves.

    python tests/unit/model_matrix.py               writes docs/models-matrix.md (minutes)

The models have the default configuration of their type, made small, and windows shorter than the text. A type works if, for
each kind of attention: observed maps and outputs equal those of eager attention bit for bit, also with padding on the left; a
plan that multiplies by 1 changes nothing; masking a head zeroes its output and no other, and changes the model's; maps are
causal if and only if they are a decoder's; and the maps that the workflow stores are those of each text alone.
"""

import contextlib
import copy
import inspect
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING, MODEL_MAPPING_NAMES

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from attention_atlas.attention import engine
from attention_atlas.attention.engine import DECODER_CROSS, DECODER_SELF, ENCODER_SELF, Plan, Site, install, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError, first_line
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.head_weights import value_norms, value_outputs
from attention_atlas.models.loading import text_part

VOCABULARY, FIRST_WORD, LENGTHS, WINDOW = 99, 5, (9, 5), 4
PAGE = Path(__file__).resolve().parents[2] / "docs" / "models-matrix.md"
WORKS, LIBRARY, REFUSED = STATUSES = ("works", "library", "refused")
LARGEST = 10**8
"""Most parameters of a tiny model: a type that has more needs overrides."""
_SMALL = {
    **dict.fromkeys(("vocab_size",), VOCABULARY),
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "d_embed"), 64),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layers", "n_layer"), 4),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(
        ("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads", "num_heads", "n_heads", "n_head"), 4
    ),
    **dict.fromkeys(("num_key_value_heads", "linear_num_key_heads", "num_experts_per_tok", "moe_topk"), 2),
    **dict.fromkeys(("num_local_experts", "num_experts", "n_routed_experts", "linear_num_value_heads", "linear_num_heads"), 4),
    **dict.fromkeys(("intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff", "n_inner", "ffn_hidden_size"), 48),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "expert_ffn_hidden_size", "q_lora_rank"), 24),
    **dict.fromkeys(("head_dim", "d_kv", "kv_channels", "v_head_dim", "qk_nope_head_dim", "kv_lora_rank", "mamba_d_head"), 16),
    **dict.fromkeys(
        ("linear_key_head_dim", "linear_value_head_dim", "linear_head_dim", "mamba_head_dim", "embedding_size"), 16
    ),
    **dict.fromkeys(("mamba_n_heads", "mamba_num_heads", "mamba_d_state", "ssm_state_size", "qk_rope_head_dim"), 8),
    **dict.fromkeys(("n_group", "topk_group", "n_groups", "mamba_n_groups", "n_shared_experts", "pad_token_id"), 1),
    **dict.fromkeys(("bos_token_id", "eos_token_id", "decoder_start_token_id"), 2),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_source_positions", "max_target_positions"), 128),
    "hidden_dim": 48,
    "mamba_dt_rank": 4,
    "sliding_window": WINDOW,
    "local_attention": 2 * WINDOW,
}
"""Sizes of tiny models, by the names that configurations have for them."""
_LATENT = {"head_dim": 8, "num_key_value_heads": 4}


def _rotary(*sections: int) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": list(sections)}}


_HALF = {"layer_types": ["linear_attention", "full_attention"] * 2}
_GEMMA = {key: value for key, value in _SMALL.items() if "expert" not in key and key != "hidden_dim"}
_OVERRIDES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa"), _LATENT),
    **dict.fromkeys(("longcat_flash", "minicpm3", "mistral4", "sarvam_mla", "youtu"), _LATENT),
    "codegen": {"rotary_dim": 8},
    **dict.fromkeys(("glm4v_moe_text", "glm4v_text", "glm_image_text", "glm_ocr_text"), _rotary(2, 1, 1)),
    **dict.fromkeys(("hunyuan_vl_text", "qwen2_5_vl_text", "qwen2_vl_text", "cosmos3_edge_text"), _rotary(4, 2, 2)),
    "gptj": {"rotary_dim": 8},
    "granitemoehybrid": _HALF,
    **dict.fromkeys(("kimi_linear", "bailing_hybrid"), _HALF | _LATENT),
    **{key: {"emb_dim": 64, "n_words": VOCABULARY} for key in ("flaubert", "xlm")},
    "bamba": {"attn_layer_indices": [1, 3]},
    "cohere_compass_text": {"rope_parameters": {"full_attention": _rotary(4, 2, 2)["rope_parameters"]}},
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 48, "moe_num_experts": 4},
    },
    "dory": {"n_input_layers": 1, "n_output_layers": 1},
    "dots3_note_text": {"num_key_value_heads": 4, "shared_experts_intermediate_size": 24},
    "esmc": {"num_key_value_heads": 4},
    "falcon_h1": {"mamba_d_ssm": 128},
    "gemma3n_text": {
        "num_kv_shared_layers": 0,
        "vocab_size_per_layer_input": VOCABULARY,
        "hidden_size_per_layer_input": 16,
        "laurel_rank": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
    },
    "gemma4_text": {"vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 16},
    "glm5_next_text": {"num_key_value_heads": 4, "qk_rope_head_dim": 0},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]]},
    "hy_v4_vl_text": _LATENT | _rotary(2, 1, 1),
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2, "num_dense_layers": 1},
    "luke": {"entity_vocab_size": 9},
    "mamba2": {"num_heads": 8},
    "qwen4_exp_text": {
        "layer_types": ["linear_attention", "indexed_attention"] * 2,
        **{
            "indexer_n_heads": 2,
            "indexer_kv_heads": 1,
            "indexer_head_dim": 16,
            "indexer_budget": 4,
            "indexer_compress_ratio": 2,
        },
        **{"hc_lowrank": 8, "ngram_vocab_size_base": 99},
    },
    "reformer": {"axial_pos_embds_dim": (32, 32), "axial_pos_shape": (8, 16)},
    "squeezebert": {"embedding_size": 64},
    "t5gemma": {"encoder": _GEMMA, "decoder": _GEMMA},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"layers_block_type": ["linear_attention", "linear_attention", "hybrid", "hybrid"], "num_key_value_heads": 4},
    "zamba2": {"layers_block_type": ["linear_attention", "hybrid"] * 2},
    "zaya": {"num_experts_per_tok": 1},
}
"""What the default configuration of a type needs to be built small."""
_OTHER = {
    *("bark", "clvp", "dia", "fastspeech2_conformer", "fastspeech2_conformer_with_hifigan", "musicgen", "musicgen_melody"),
    *("pe_audio", "pe_audio_video", "vits", "evolla", "exaone4_5_vision", "pe_video"),
}
"""Types that read tokens, but are no text models: of sound, proteins or pictures."""


@dataclass
class Verdict:
    """What was seen of a model type."""

    status: str  # works, library (observed and changed, but its maps are not what the studies assume), or refused
    reason: str = ""  # the message, where it does not work
    no_norms: str = ""  # the message, where it has no norm-weighted attention
    no_copying: str = ""  # the message, where it has no copying by weights
    faults: list[str] = field(default_factory=list)


def text_types() -> Iterator[tuple[str, type, type]]:
    """Model types that read only text: name, class of the configuration, class of the bare model."""
    for name in (name for name in MODEL_MAPPING_NAMES if name not in _OTHER):
        try:
            configuration = CONFIG_MAPPING[name]
            model = MODEL_MAPPING[configuration]
        except (KeyError, ValueError):
            continue
        model = model[0] if isinstance(model, (tuple, list)) else model
        try:
            reads_text = model.main_input_name == "input_ids"
        except ImportError:
            continue
        if reads_text and getattr(model, "input_modalities", None) in (None, "text", ("text",), ["text"]):
            yield name, configuration, model


def tiny_model(name: str, configuration: type, model_class: type) -> nn.Module:
    """A random model of a type in evaluation mode, its heads far from uniform attention."""
    names = set(inspect.signature(configuration.__init__).parameters) | set(getattr(configuration, "__dataclass_fields__", {}))
    settings = {key: value for key, value in _SMALL.items() if key in names} | _OVERRIDES.get(name, {})
    torch.manual_seed(0)
    settings = configuration(**settings)
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in model_class(settings).parameters())
    if size > LARGEST:
        raise ValueError(f"{size} parameters")
    model = model_class(settings).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, mean=0.0 if parameter.dim() > 1 else 0.5, std=0.2)
    return model


def check(name: str, configuration: type, model_class: type) -> Verdict:
    """All checks of one type."""
    model = tiny_model(name, configuration, model_class)
    try:
        install(copy.deepcopy(model))
    except AtlasError as error:
        return Verdict(REFUSED, str(error))
    verdict = Verdict(WORKS)
    _check_model(model, verdict)
    if verdict.faults:
        return verdict
    part = text_part(model)
    tokens = batch(part, LENGTHS)["input_ids"]
    examples = [
        Example(row, str(row), tuple(ids[:n].tolist()), (0,) * n, ("",) * n, tuple(range(n)), ("",) * n, {})
        for row, (ids, n) in enumerate(zip(tokens, LENGTHS, strict=True))
    ]
    try:
        maps = attention_maps(part, examples, pad=1)
    except AtlasError as error:
        verdict.status, verdict.reason = LIBRARY, str(error)
        return verdict
    for row, n in enumerate(LENGTHS):
        single, _ = observed(part, {key: value[row : row + 1, :n] for key, value in batch(part, LENGTHS).items()})
        alone = torch.stack([weights[0] for _, weights in sorted(single.items(), key=lambda item: item[0].layer)])
        if not torch.allclose(torch.from_numpy(maps[row]).float(), alone, atol=1e-3):
            verdict.faults.append("cached maps differ from those of one example alone")
    _, verdict.no_norms = value_norms(part)
    try:
        value_outputs(part)
    except AtlasError as error:
        verdict.no_copying = str(error)
    return verdict


def _check_model(model: nn.Module, verdict: Verdict) -> None:
    inputs = batch(model, LENGTHS)
    reference_maps, reference_output = eager(model, inputs)
    install(model)
    maps, output = observed(model, inputs)
    fault = verdict.faults.append
    if not torch.equal(output, reference_output):
        fault("output differs from eager")
    for kind, (layer_count, heads) in engine.attention_shape(model).items():
        layers = sorted(site.layer for site in maps if site.site_kind == kind)
        ours, theirs = [maps[Site(*kind, layer)] for layer in layers], reference_maps.get(kind, [])
        if len(theirs) == layer_count:
            theirs = [theirs[layer - 1] for layer in layers]
        # Eager may return no maps, or several of a layer, which the extraction refuses.
        if theirs and len(theirs) <= len(ours) and not (len(ours) == len(theirs) and all(map(torch.equal, ours, theirs))):
            fault(f"{kind} maps differ from eager")
        if kind != DECODER_CROSS and all(weights.shape[2] == weights.shape[3] for weights in ours):
            causal = {bool(weights[0].triu(1).abs().amax() == 0) for weights in ours}
            if causal != {kind == DECODER_SELF}:
                fault(f"{kind} attention is{'' if kind == ENCODER_SELF else ' not'} causal")
        with contextlib.suppress(AtlasError):  # that attention can only be masked
            gated = observed(model, inputs, Plan().gated(torch.ones(heads), where=kind))[1]
            if not torch.allclose(gated, output, atol=1e-4 * max(1.0, float(output.abs().max()))):
                fault(f"a plan that changes nothing changes the output ({kind})")
        plan = Plan().zero(layers[-1], 2, where=kind)
        of_all, _ = outputs_of_heads(model, inputs, None, kind, layers[-1])
        of_others, masked_output = outputs_of_heads(model, inputs, plan, kind, layers[-1])
        others = [head for head in range(heads) if head != 1]
        if of_others[:, :, 1].any() or not torch.equal(of_others[:, :, others], of_all[:, :, others]):
            fault(f"{kind}: masking a head does not zero its output alone")
        if torch.equal(masked_output, output):
            fault(f"{kind}: masking a head has no effect")
    left = batch(model, LENGTHS, "left")
    model.set_attn_implementation("eager")
    with torch.no_grad():
        reference_output = main_output(model(**left))
    install(model)
    ours = observed(model, left)[1]
    if ours.shape[:2] == left["input_ids"].shape:
        real = left.get("decoder_attention_mask", left["attention_mask"]).bool()
        ours, reference_output = ours[real], reference_output[real]
    if not torch.equal(ours, reference_output):
        fault("padding on the left: output differs from eager")


def batch(model: nn.Module, lengths: tuple[int, ...], side: str = "right") -> dict[str, torch.Tensor]:
    """Random tokens of these lengths, padded on a side; models with a decoder read the same on both sides."""
    longest = max(lengths)
    tokens = torch.randint(FIRST_WORD, VOCABULARY, (len(lengths), longest), generator=torch.Generator().manual_seed(1))
    places = torch.arange(longest)
    real = torch.stack([places < n if side == "right" else places >= longest - n for n in lengths])
    inputs = {"input_ids": torch.where(real, tokens, 1), "attention_mask": real.long()}
    accepted = inspect.signature(model.forward).parameters
    if model.config.is_encoder_decoder:
        inputs |= {f"decoder_{key}": value for key, value in inputs.items()}
    elif side == "left" and "position_ids" in accepted:
        inputs["position_ids"] = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    return inputs


def main_output(output: Any) -> torch.Tensor:
    """The last hidden states, where the model has them."""
    return output.last_hidden_state if getattr(output, "last_hidden_state", None) is not None else output[0]


def eager(model: nn.Module, inputs: dict[str, torch.Tensor]) -> tuple[dict[Any, list[torch.Tensor]], torch.Tensor]:
    """Maps of each kind and output by the eager attention of transformers."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    fields = {"decoder_attentions": DECODER_SELF, "encoder_attentions": ENCODER_SELF, "cross_attentions": DECODER_CROSS}
    maps = {kind: output.get(key) for key, kind in fields.items()}
    if output.get("attentions") is not None:
        maps[next(iter(engine.attention_shape(model)))] = output["attentions"]
    return {kind: [layer for layer in layers or () if layer is not None] for kind, layers in maps.items()}, main_output(output)


def observed(
    model: nn.Module, inputs: dict[str, torch.Tensor], plan: Plan | None = None, outputs: Sequence[Any] = ()
) -> tuple[dict[Site, torch.Tensor], torch.Tensor]:
    """Maps (the first of a layer) and output of a pass through the engine."""
    maps: dict[Site, torch.Tensor] = {}
    with torch.no_grad(), watch(model, observers=[maps.setdefault], plan=plan, outputs=outputs) as session:
        session.batch(inputs["attention_mask"], decoder_attention_mask=inputs.get("decoder_attention_mask"))
        return maps, main_output(model(**inputs))


def outputs_of_heads(
    model: nn.Module, inputs: dict[str, torch.Tensor], plan: Plan | None, kind: engine.SiteKind, layer: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """[batch, query, head, size] outputs of the heads of a layer, the last if it has several, and output of the model."""
    seen = {}
    output = observed(model, inputs, plan, [lambda site, values: seen.update({site: values.clone()})])[1]
    return seen[Site(*kind, layer)], output


def verdicts() -> dict[str, Verdict]:
    """What was seen of each text type."""
    # Tiny models are slower on several threads.
    torch.set_num_threads(1)
    seen = {}
    for name, configuration, model_class in text_types():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                seen[name] = check(name, configuration, model_class)
            except Exception as error:  # any fault of any model is a result
                seen[name] = Verdict(WORKS, faults=[f"{type(error).__name__}: {first_line(error, 200)}"])
    return seen


_REASONS = {
    "have no attention": "Only some layers have attention, and the studies compare all layers.",
    "learnt sinks": "Heads have learnt sinks, so the attention of a token does not sum to 1.",
    "the attention interface": "Attention is computed outside the attention interface.",
    "cannot be distinguished": "Layers cannot be distinguished.",
    "not that of each": "One pass computes several maps of a head, so that none is the head's.",
    "different numbers": "Layers have different numbers of heads.",
}
"""Part of a message -> reason on the page."""


def page(seen: Mapping[str, Verdict]) -> str:
    """The page of the documentation."""
    names = {status: [name for name in sorted(seen) if seen[name].status == status] for status in STATUSES}

    def listed(types: Sequence[str]) -> str:
        return textwrap.fill(", ".join(types), 120, break_on_hyphens=False)

    def grouped(status: str) -> str:
        reasons: dict[str, list[str]] = {}
        for name in names[status]:
            reason = next((text for part, text in _REASONS.items() if part in seen[name].reason), seen[name].reason)
            reasons.setdefault(reason, []).append(name)
        return "\n\n".join(f"{reason}\n\n> {listed(types)}" for reason, types in reasons.items())

    no_norms = [name for name in names[WORKS] if seen[name].no_norms]
    no_copying = [name for name in names[WORKS] if seen[name].no_copying and not seen[name].no_norms]
    works, library, refused = (len(names[status]) for status in STATUSES)
    summary = textwrap.fill(
        f"Every text model type of transformers {transformers.__version__}, as a tiny random model, checked against its eager "
        f"attention (`tests/unit/model_matrix.py`). Of {len(seen)} types, {works} work everywhere; `watch` observes and "
        f"changes {library} others, which the studies refuse; {refused} are refused.",
        120,
        break_on_hyphens=False,
    )
    return f"""# All model types

{summary}

## Work everywhere

All types that the sections below do not name.

Without norm-weighted attention and copying, since heads' outputs are gated, normalised, or not projected by a linear layer:

> {listed(no_norms)}

Without copying, since heads do not read and write the residual stream by a linear layer each:

> {listed(no_copying)}

## Observed by `watch`, refused by the studies

{grouped(LIBRARY)}

## Refused

{grouped(REFUSED)}
"""


if __name__ == "__main__":
    PAGE.write_text(page(verdicts()), encoding="utf-8")
