"""Declaration of the study of Clark et al. (2019), What Does BERT Look At?"""

from __future__ import annotations

from attention_atlas.errors import AtlasError
from attention_atlas.studies.clark2019.head_measures import MEASURES
from attention_atlas.studies.clark2019.pages import PAGES
from attention_atlas.workflow.known import check_known, check_reader
from attention_atlas.workflow.lookups import Config, Pair, study_model
from attention_atlas.workflow.studies import study_corpora
from attention_atlas.workflow.study import Artifact, Paper, Role, Study, figure, table

ID = "clark2019"
ROLES = {
    "segments": Role("segments", "Figures 1, 2, 3, 4 and 6."),
    "dependencies": Role("conllu", "Table 1 and Figure 5; Table 3 is evaluated on it.", required=True),
    "coreference": Role("conll2012", "Table 2."),
    "coreference_windows": Role("conll2012", "the corpus of Table 2 with the other kind of windows (Table 2, options)."),
    "gap": Role("gap", "pronoun resolution by gender."),
    "probe_training": Role("conllu", "training treebank of the probes of Table 3."),
    "vectors": Role("vectors", "word vectors of the probes with words; default: reduced input embeddings of the model."),
}
ARTIFACTS = (
    figure(
        "figure1",
        "Figure 1",
        "Four example heads",
        "One head of each kind: broad attention, attention to the next token, to [SEP], and to punctuation (Clark et al. "
        "2019, Figure 1). Each is the head with the largest mean, over all segments, of entropy (broad) or of attention to "
        "its target; the title gives this mean. Where it stays below the thresholds of Figure 6, the model has no such "
        "head, and the panel says so. The panels show the last fifteen tokens of one segment; darker lines are larger "
        "attention weights. Rows are renormalised over the tokens drawn, and the first token stands for all earlier ones.",
        needs=["segments"],
        shows_text=True,
    ),
    figure(
        "figure2",
        "Figure 2",
        "Attention to [CLS], [SEP] and punctuation, by layer",
        "Mean attention to [CLS], to [SEP], and to full stops and commas; and to [SEP] from all other tokens and from [SEP] "
        "itself (Clark et al. 2019, Figure 2). Dots are heads, lines their means; the grey band is the range over the heads of "
        "the model with random weights, if the run names one. Hollow marks: values read off the paper's figure, for BERT-base "
        "on Wikipedia, by absolute layer (12 layers); they are comparable only in a run of the same model and corpus. Means "
        "are over queries, then over segments with equal weight. BERT attends to [SEP] most, other models may attend to [CLS] "
        "instead: the line below the figure gives both.",
        needs=["segments"],
    ),
    table(
        "positions",
        "Section 3.1",
        "Attention to the next, previous and current token",
        "Attention to the next, previous and current token (Clark et al. 2019, section 3.1), by the rank of the head: first "
        "the strongest head of each position.",
        needs=["segments"],
        files=["surface.tsv"],
    ),
    figure(
        "positions_figure",
        "Section 3.1, figure",
        "Attention to the previous, next and current token, by layer",
        "Mean attention of every head to the previous token, to the next token, and to the current token (Clark et al. "
        "2019, section 3.1, which has no figure). Dots are heads, lines their means. A head whose attention to the "
        "previous or next token is above the dashed line is called positional. Hollow marks: the largest head of a layer "
        "in the paper's notebook, for the layers whose value could be read, for BERT-base on Wikipedia, by absolute layer "
        "(12 layers).",
        needs=["segments"],
    ),
    figure(
        "figure3",
        "Figure 3",
        "Gradient of the masked-language-model loss with respect to attention, by target",
        "Magnitude of the derivative of the masked-language-model loss with respect to the attention weights to [SEP], [CLS], "
        "full stops and commas, and other tokens, by layer (Clark et al. 2019, Figure 3). Other tokens include [CLS], unless "
        "gradients.cls_is_other is false. Marks are heads, lines their means, on a logarithmic scale. The paper does not say "
        "which tokens are masked or how it averages, so four readings are drawn, each over the same queries in all layers "
        "(the setting gradients.rows). The notes of Figure 3, variants, say which masked-LM head predicts the tokens.",
        needs=["segments"],
    ),
    table(
        "figure3_variants",
        "Figure 3, variants",
        "The gradient by layer in every variant that the paper leaves open",
        "Mean gradient by layer and target class in every variant: tokens masked as in pre-training or not at all; mean over "
        "weights, sum over the class, or gradient times attention (Clark et al. 2019, Figure 3). The notes name the masked-LM "
        "head and the special token that the model attends to most.",
        needs=["segments"],
    ),
    figure(
        "figure4",
        "Figure 4",
        "Entropy of attention, from all tokens and from [CLS]",
        "Entropy of attention over all tokens (left) and from [CLS] alone (right), by layer (Clark et al. 2019, Figure 4). "
        "Dots are heads, lines their means. The dashed line is a head that attends to all tokens alike. Hollow marks: values "
        "read off the paper's figure, for BERT-base on Wikipedia segments, by absolute layer (12 layers); lengths of segments "
        "differ between corpora.",
        needs=["segments"],
    ),
    table(
        "table1",
        "Table 1",
        "The best head of each dependency relation, with intervals and held-out choice",
        "The most accurate head for each dependency relation, with a bootstrap interval over documents, the head held "
        "fixed (Clark et al. 2019, Table 1). Held-out: head (heldout_accuracy) or offset (heldout_baseline) chosen on the "
        "other folds of documents. Baseline: the best fixed offset. Margin: accuracy of the head minus that of the baseline; "
        "tested margin: the same with both chosen on one half of the documents and compared on the other, as the p-values are, "
        "which are corrected (Holm) over the rows of each table. Relations with fewer tokens than the setting min_count have "
        "no row in dependencies.tsv, except those of the paper. "
        "Further columns give the random-weights control where the run has one, and the published values.",
        needs=["dependencies"],
        files=["dependencies.tsv", "dependency_heads.tsv", "dependency_head_relations.tsv"],
    ),
    figure(
        "figure5",
        "Figure 5",
        "Heads that follow a dependency relation",
        "The best head of each relation on two sentences of the treebank (Clark et al. 2019, Figure 5). Orange: lines and "
        "words of the relation; grey: all other attention; darker lines are larger weights. Unless the run names sentences, "
        "the figure shows ones on which the head is right: they illustrate what it does, and the title gives how often it is "
        "right. [CLS] and [SEP] are drawn except for pobj, as in the authors' notebook; for coreference, other sentences of "
        "the window are left out. Where tokens are left out, rows are renormalised.",
        needs=["dependencies"],
        uses=["coreference"],
        shows_text=True,
    ),
    table(
        "table2",
        "Table 2",
        "The best coreference head and rule-based baselines, by type of mention",
        "Share of mentions whose head word picks the head word of an antecedent: the best attention head, and the rule-based "
        "baselines and the best head of a model with random weights over the same candidates, by type of mention, with "
        "bootstrap intervals over documents (Clark et al. 2019, Table 2). Systems: chance, a candidate at random; nearest, the "
        "nearest other mention; head match, the nearest with the same head word; rule-based, the nearest mention of the first "
        "of four sieves that is not empty (same words; same head word; number, gender and person agree; any). The head is "
        "chosen on the same documents; held-out: on the other folds of documents.",
        needs=["coreference"],
        uses=["coreference_windows"],
        files=["coreference_heads.tsv"],
    ),
    table(
        "table2_options",
        "Table 2, options",
        "Effect on Table 2 of each choice that the paper leaves open",
        "Table 2 under each choice that the paper leaves open, changed one at a time: candidate words, mentions, head words"
        " and windows (Clark et al. 2019, Table 2).",
        needs=["coreference"],
        uses=["coreference_windows"],
    ),
    table(
        "gap",
        "GAP",
        "Pronoun resolution by gender on GAP, an addition to the paper",
        "Accuracy of choosing between two names by attention between a pronoun and the names, in either direction, by "
        "gender of the pronoun, on GAP (Webster et al. 2018). This gender-balanced check of Table 2 is not in Clark et al. "
        "(2019). Passages in which the pronoun refers to neither name or to both are left out; the table of dropped "
        "examples counts them.",
        needs=["gap"],
        files=["gap_heads.tsv"],
    ),
    table(
        "table3",
        "Table 3",
        "Probing classifiers on attention, with and without words, and their baselines",
        "Accuracy of probes that predict dependency heads from all attention heads, over several seeds. The probes use "
        "attention alone, attention with word vectors, distances with word vectors, or a model with random weights. "
        "Results are given with the published code's misalignment of ROOT (legacy) and with it fixed (Clark et al. 2019, Table "
        "3). The rows of the paper come first: each word's best candidate, without punctuation. The notes say how the number "
        "of epochs was chosen, and whether attention alone beats the best single head.",
        needs=["dependencies", "probe_training"],
        uses=["vectors"],
        files=["table3_seeds.tsv", "table3_gains.tsv", "table3_leads.tsv"],
    ),
    figure(
        "figure6",
        "Figure 6",
        "Heads in the plane by their Jensen-Shannon divergences",
        "Heads in the plane by multidimensional scaling of the Jensen-Shannon divergences of their attention (Clark et al. "
        "2019, Figure 6): by behaviour, with the best heads of some relations circled, and by layer. Third panel: how stable "
        "the plane is. Each line leads from a head to its position in a layout from another random start, which is moved, "
        "rotated and mirrored onto this one, but not scaled; long lines mean unstable positions. RMS displacement: "
        "root-mean-square length of the lines; RMS radius: root-mean-square distance of the heads from the centre. Last panel: "
        "mean divergence of two heads by the distance between their layers, which does not depend on the plane. The "
        "orientation of the plane has no meaning.",
        needs=["segments", "dependencies"],
        uses=["coreference"],
        files=["figure6_layers.tsv", "figure6_starts.tsv", "head_distances.tsv"],
    ),
    table(
        "figure6_test",
        "Figure 6, test",
        "Are heads of one layer more similar than heads of different layers?",
        "Mean divergence of heads within and between layers, with a permutation test over layer labels. The paper states "
        "the difference without a statistic (Clark et al. 2019, section 6). The table also gives how well the plane of "
        "Figure 6 preserves the divergences.",
        needs=["segments", "dependencies"],
        uses=["coreference"],
    ),
    table(
        "noop",
        "Section 3.2",
        "Attention to [SEP] where a head's relation holds and where it does not",
        "Attention to [SEP] as a no-op (Clark et al. 2019, section 3.2): for the best head of each relation, attention to "
        "[SEP], and to [CLS], from words that have the relation and from all others.",
        needs=["dependencies"],
        uses=["segments"],
    ),
    table(
        "options",
        "Options",
        "Effect of each disputed choice on the results",
        "Change in the result when one choice is changed at a time. The choices are those on which the paper, the published"
        " code and good practice differ (Clark et al. 2019).",
        needs=["segments", "dependencies"],
        uses=["variants", "probe_training", "vectors"],
    ),
    table(
        "dropped",
        "Dropped",
        "Dropped examples, by reason",
        "Number of records dropped from each corpus, by reason, and of passages of GAP that are kept but not scored.",
        needs=["segments", "dependencies"],
        uses=["coreference", "coreference_windows", "gap", "probe_training", "variants"],
    ),
    table(
        "comparison",
        "Comparison",
        "Every published number beside this run's",
        "Every published number of the study beside this run's, whether the two are comparable and why, and a verdict.",
        needs=["segments", "dependencies"],
        uses=["coreference", "coreference_windows", "probe_training", "vectors"],
    ),
    table(
        "claims",
        "Claims",
        "The paper's claims on order and thresholds, tested on the run's model",
        "What the paper says about order and thresholds, tested on this run's model: the claim, its statistic with an "
        "interval, and whether it holds (Clark et al. 2019, sections 1 and 3 to 6).",
        needs=["segments", "dependencies"],
        uses=["coreference", "coreference_windows", "probe_training", "vectors"],
    ),
)
CONTROLLED = ("segments", "dependencies", "coreference")
"""Roles whose results are compared with those of a model with random weights."""
OPTIONAL: dict[str, tuple[str, ...]] = {
    "segments": ("variants",),
    "coreference": ("coreference_windows",),
    "coreference_windows": (),
    "gap": (),
    "probe_training": ("vectors",),
    # Falling back to other vectors than the named ones would give a different table.
    "vectors": ("probe_training",),
    "random_model": (),
    "probes.random_models": (),
    "variants.segment_ids": (),
    "variants.recipe": (),
    "variants.casing": (),
}
"""Optional keys of a run -> keys that are dropped with them."""
MASKINGS = 3
"""Ways of masking tokens for which gradients are computed (Figure 3)."""


def pairs(config: Config, run: str) -> list[Pair]:
    """(model, corpus) whose attention is cached: those of the roles, of random models, and of variants."""
    settings = config["runs"][run][ID]
    model, corpora = study_model(config, run, ID), study_corpora(config, run, ID)
    measured = [(model, corpus) for role, corpus in corpora.items() if role != "vectors"]
    if "probe_training" in corpora:
        roles = ("probe_training", "dependencies")
        measured += [(random, corpora[role]) for random in settings["probes"]["random_models"] for role in roles]
    if "random_model" in settings:
        measured += [(settings["random_model"], corpora[role]) for role in CONTROLLED if role in corpora]
    for variant, name in settings["variants"].items():
        if variant == "casing":
            measured += [(name, corpora[role]) for role in ("segments", "dependencies")]
        else:
            measured.append((model, name))
    return measured


def models(config: Config, run: str, artifact: Artifact) -> list[str]:
    """Models with random weights."""
    settings = config["runs"][run][ID]
    return [*filter(None, [settings.get("random_model")]), *settings["probes"]["random_models"]]


def check(config: Config, run: str, place: str) -> None:
    """Check the levels of caches that options need, the random models, and the variants.

    Raises:
        AtlasError: names the key.
    """
    settings = config["runs"][run][ID]
    if "segments" in settings and config["corpora"][settings["segments"]]["level"] != "tokens":
        raise AtlasError(f"config: {place}.segments: its measures are over word pieces, so the corpus needs level: tokens.")
    mode = settings["options"].get("word_mode", "mean")
    if mode != "mean" and config["corpora"][settings["dependencies"]]["level"] != "tokens":
        raise AtlasError(
            f"config: {place}.options.word_mode: {mode} needs level: tokens for corpus '{settings['dependencies']}', since a "
            "cache over words holds the mean alone."
        )
    for name in settings["probes"]["random_models"]:
        check_known(name, config["models"], "model", f"{place}.probes.random_models")
    if "random_model" in settings:
        name = settings["random_model"]
        check_known(name, config["models"], "model", f"{place}.random_model")
        if config["models"][name]["init"] == "pretrained":
            raise AtlasError(f"config: {place}.random_model: '{name}' is not random: set init: random_encoder.")
    for variant, name in settings["variants"].items():
        where = f"{place}.variants.{variant}"
        if "segments" not in settings:
            raise AtlasError(f"config: {where}: a variant needs a corpus of segments: name {place}.segments as well.")
        if variant == "casing":
            check_known(name, config["models"], "model", where)
        else:
            check_known(name, config["corpora"], "corpus", where)
            check_reader(config, name, "segments", where)


STUDY = Study(
    id=ID,
    order=1,
    title="Clark et al. (2019): What Does BERT Look At?",
    description="Clark et al. 2019, What Does BERT Look At?",
    paper=Paper("Clark et al. (2019)", "https://arxiv.org/abs/1906.04341"),
    roles=ROLES,
    artifacts=ARTIFACTS,
    pairs=pairs,
    models=models,
    optional=OPTIONAL,
    check=check,
    pages=PAGES,
    measures=MEASURES,
)
