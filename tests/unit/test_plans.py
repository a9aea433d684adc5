"""Plans on probabilities made by hand: no model takes part."""

import numpy as np
import pytest
import torch

from attention_atlas.attention.plans import DECODER_CROSS, DECODER_SELF, ENCODER_SELF, BatchFacts, Plan, Side, Site
from attention_atlas.errors import AtlasError

BERT_LIKE = {ENCODER_SELF: (3, 4)}
GPT_LIKE = {DECODER_SELF: (3, 4)}
TRANSLATOR = {ENCODER_SELF: (3, 4), DECODER_SELF: (2, 4), DECODER_CROSS: (2, 4)}
MINIMUM = torch.finfo(torch.float32).min


def maps(batch: int = 2, queries: int = 6, keys: int = 6) -> torch.Tensor:
    return torch.randn(batch, 4, queries, keys, generator=torch.Generator().manual_seed(0)).softmax(-1)


def apply(plan, probabilities, facts=None, shape=BERT_LIKE, site=None, additive_mask=None):
    site = site or Site(*next(iter(shape)), 2)
    return plan.compile(shape)[site].apply(probabilities, additive_mask, facts or BatchFacts())


def test_uniform_divides_by_the_real_tokens_of_each_example():
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]])
    before = maps()
    after = apply(Plan().uniform(2, [1, 4]), before, BatchFacts(Side(mask)))
    rows = torch.tensor([[1 / 4] * 4 + [0] * 2, [0] * 3 + [1 / 3] * 3])
    torch.testing.assert_close(after[:, [0, 3]], rows[:, None, None].expand(2, 2, 6, 6))
    assert torch.equal(after[:, [1, 2]], before[:, [1, 2]])


@pytest.mark.parametrize("with_model_mask", [True, False])
def test_uniform_in_causal_attention_counts_what_the_query_sees(with_model_mask):
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    seen = torch.ones(5, 5).tril().bool() & mask[:, None, :].bool()
    additive = torch.where(seen[:, None], 0.0, MINIMUM) if with_model_mask else None
    after = apply(Plan().uniform(2), maps(2, 5, 5), BatchFacts(Side(mask)), GPT_LIKE, additive_mask=additive)
    torch.testing.assert_close(after[:, 2], seen / seen.sum(-1, keepdim=True).clamp(min=1))
    new = apply(Plan().uniform(2), maps(2, 1, 5), BatchFacts(Side(torch.tensor([[0, 1, 1], [1, 1, 1]]))), GPT_LIKE)
    torch.testing.assert_close(new[:, 0, 0], torch.tensor([[0, 1 / 4, 1 / 4, 1 / 4, 1 / 4], [1 / 5] * 5]))


def test_uniform_in_translators():
    additive = torch.where(torch.ones(3, 3).tril().bool(), 0.0, MINIMUM).expand(2, 1, 3, 3)
    decoder, facts = Plan().uniform(1, where=DECODER_SELF), BatchFacts(Side(torch.ones(2, 7)), Side())
    # Without a mask of its own, the decoder's causal mask counts.
    after = apply(decoder, maps(2, 3, 3), facts, TRANSLATOR, Site("decoder", "self", 1), additive)
    torch.testing.assert_close(after[1, 3], torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]))
    # The source is repeated for beams.
    facts = BatchFacts(Side(torch.tensor([[1, 1, 0], [1, 1, 1]])), Side())
    cross = Plan().uniform(2, 1, where=DECODER_CROSS)
    after = apply(cross, maps(4, 1, 3), facts, TRANSLATOR, Site("decoder", "cross", 2))
    torch.testing.assert_close(after[:, 0, 0], torch.tensor([[1 / 2, 1 / 2, 0]] * 2 + [[1 / 3] * 3] * 2))


@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize("dropped", [("intra",), ("inter",), ("intra", "inter")])
def test_drops_by_sentence_equal_a_slow_loop(dropped, renormalise):
    ids = torch.tensor([[-1, 0, 0, 1, 1, -1], [0, 0, 0, 0, 0, 0]])
    before, plan = maps(), Plan()
    for which in dropped:
        plan = plan.drop(2, [2, 3], which=which, renormalise=renormalise).drop(2, 4, which=which)
    after = apply(plan, before, BatchFacts(Side(None, ids)))
    for example, head, query in np.ndindex(2, 4, 6):
        row = before[example, head, query].clone()
        for key in range(6):
            mine, its = int(ids[example, query]), int(ids[example, key])
            if head in (1, 2, 3) and -1 not in (mine, its) and ("intra" if mine == its else "inter") in dropped:
                row[key] = 0
        if renormalise and head in (1, 2) and row.sum() > 0:
            row = row / row.sum()
        torch.testing.assert_close(after[example, head, query], row, rtol=1e-6, atol=1e-7)


def test_drops_while_generating_leave_new_tokens_alone():
    before = maps(1, 2, 5)
    after = apply(Plan().drop(2, which="intra"), before, BatchFacts(Side(None, torch.tensor([[0, 0, 1, 1]]))), GPT_LIKE)
    torch.testing.assert_close(after, before * torch.tensor([[1, 1, 0, 0, 1], [1, 1, 1, 1, 1]]))


@pytest.mark.parametrize("shape", [(4,), (3, 1), (3, 4), (2, 3, 4), (2, 1, 1)])
def test_gates_are_broadcast_to_batch_layer_head(shape):
    gates = torch.rand(shape, generator=torch.Generator().manual_seed(1))
    after = apply(Plan().gated(gates).gated(torch.full((2, 3, 4), 3.0)), maps())
    torch.testing.assert_close(after, 3 * maps() * torch.broadcast_to(gates, (2, 3, 4))[:, 1, :, None, None])


@pytest.mark.parametrize(("dtype", "order"), [(torch.float16, 1), (torch.bfloat16, -1)])
def test_the_order_of_the_calls_does_not_matter_and_precision_is_kept(order, dtype):
    facts = BatchFacts(Side(torch.ones(1, 6), torch.tensor([[0, 0, 0, 1, 1, 1]])))
    steps = [
        lambda plan: plan.zero(2, 1),
        lambda plan: plan.drop(2, [1, 2], which="inter"),
        lambda plan: plan.uniform(2, [1, 2]),
        lambda plan: plan.gated(torch.tensor([3.0])),
    ]
    plan = Plan()
    for step in steps[::order]:
        plan = step(plan)
    after = apply(plan, maps(1).to(dtype), facts)
    assert after.dtype == dtype
    assert torch.equal(after[:, 0], torch.zeros(1, 6, 6, dtype=dtype))
    torch.testing.assert_close(after[0, 1, 0].float(), torch.tensor([0.5, 0.5, 0.5, 0, 0, 0]), rtol=0.01, atol=0)


@pytest.mark.parametrize(
    ("plan", "facts", "shape", "message"),
    [
        (Plan().zero(0, 1), BatchFacts(), BERT_LIKE, r"layer 0 of the encoder/self .* layers 1 to 3; .* count from 1"),
        (Plan().zero(4, 1), BatchFacts(), BERT_LIKE, r"names layer 4 of .* layers 1 to 3"),
        (Plan().uniform(1, [1, 5]), BatchFacts(), BERT_LIKE, r"names head 5 in layer 1 .* heads 1 to 4"),
        (Plan().zero(1, 0), BatchFacts(), BERT_LIKE, r"names head 0 in layer 1 .* heads 1 to 4; .* count from 1"),
        (Plan().zero(1, 1), BatchFacts(), TRANSLATOR, r"this model has encoder/self, decoder/self, decoder/cross: name one"),
        (Plan().zero(1, 1, where=DECODER_SELF), BatchFacts(), BERT_LIKE, r"decoder/self .* does not have: name encoder/self"),
        (Plan().gated(torch.ones(4, 3)), BatchFacts(), BERT_LIKE, r"shape \(4, 3\) do not fit .* \[batch, 3 layers, 4 heads\]"),
        (Plan().uniform(2), BatchFacts(), BERT_LIKE, r"no attention mask; pass it to session.batch"),
        (Plan().uniform(2), BatchFacts(Side(torch.ones(2, 5))), BERT_LIKE, r"6 positions, but session.batch was given 5"),
        (Plan().uniform(2), BatchFacts(Side(torch.ones(1, 6))), BERT_LIKE, r"2 examples .* were given for 1"),
        (Plan().drop(2, which="intra"), BatchFacts(Side(torch.ones(2, 6))), BERT_LIKE, r"no sentence ids; pass them to"),
    ],
)
def test_plans_that_fit_neither_the_model_nor_the_batch(plan, facts, shape, message):
    with pytest.raises(AtlasError, match=message):
        apply(plan, maps(), facts, shape)
