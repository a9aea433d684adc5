# What the rules of Štefánik's study read: documents with keyphrases, the attention of a model over them, and taggers that are
# fine-tuned from that model, one a seed.

from attention_atlas.studies.stefanik2021.names import SPLITS


def stefanik2021_pairs(run):
    """(model, corpus) whose attention is cached: that of the documents."""
    settings = config["runs"][run]["stefanik2021"]
    return [(study_model(config, run, "stefanik2021"), settings["documents"])]


def stefanik2021_examples(run):
    """(model, corpus) of all examples that the study reads, what the taggers are trained on included."""
    settings = config["runs"][run]["stefanik2021"]
    model = study_model(config, run, "stefanik2021")
    corpora = [settings[role] for role in ("documents", *SPLITS) if role in settings]
    if "family" in settings:
        tasks = config["families"][settings["family"]]["tasks"]
        corpora.append(tasks["keyphrases"]["corpus"])
    return [(model, corpus) for corpus in dict.fromkeys(corpora)]


def stefanik2021_corpora(run):
    """Corpora that the study reads, what the taggers are trained on included."""
    return [corpus for _, corpus in stefanik2021_examples(run)]


PAIRS["stefanik2021"] = stefanik2021_pairs
FURTHER_CORPORA["stefanik2021"] = stefanik2021_corpora


def taggers(run):
    """Seed -> tagger."""
    family = config["runs"][run]["stefanik2021"].get("family")
    if family is None:
        raise WorkflowError(
            f"runs.{run}.stefanik2021 names no family of taggers, which this file needs: add it to the run."
        )
    seeds = family_seeds(config, family, "keyphrases")
    return {seed: family_member(family, "keyphrases", seed) for seed in seeds}


def removals_by_seed(wildcards):
    """Params function: seed -> answers of its tagger."""
    run = wildcards.run
    folder = f"results/{run}/stefanik2021/removals"
    return {
        str(seed): f"{folder}/{model}.parquet" for seed, model in taggers(run).items()
    }


def removal_files(wildcards):
    """Input function: answers of all taggers."""
    return list(removals_by_seed(wildcards).values())


def split_limits(wildcards):
    """Params function: part -> records that count."""
    return {split: limit_for("stefanik2021", split)(wildcards) for split in SPLITS}


def fit_settings(wildcards):
    """Params function: how heads are combined."""
    chosen = config["runs"][wildcards.run]["stefanik2021"]
    keys = ("folds", "penalty", "fits", "permutations", "seed")
    return {key: chosen[key] for key in keys}


def pairs_setting(wildcards):
    """What figures and pages of single pairs say of them."""
    chosen = config["runs"][wildcards.run]["stefanik2021"]
    own = setting(
        wildcards,
        study_model(config, wildcards.run, "stefanik2021"),
        chosen["documents"],
    )
    return own | {
        "corpus": " / ".join(chosen["pairs"][0]),
        "corpus_reference": "",
        "sample": False,
    }


def tagging_setting(wildcards):
    """What was looked at in the taggers: their family and the test documents."""
    chosen = config["runs"][wildcards.run]["stefanik2021"]
    own = setting(
        wildcards, study_model(config, wildcards.run, "stefanik2021"), chosen["test"]
    )
    return own | {"model": f"{chosen['family']} ({len(taggers(wildcards.run))} seeds)"}


def figure_settings(wildcards):
    """Params function: figure -> what was looked at, for those that need no training."""
    documents = setting_for("stefanik2021", "documents")(wildcards)
    return {
        **dict.fromkeys(
            ("relative_attention", "head_ranking", "logistic_regression"), documents
        ),
        "model_view": pairs_setting(wildcards),
    }


def tagging_settings(wildcards):
    """Params function: figure -> what was looked at, for those of taggers and what stands beside them."""
    tagging = tagging_setting(wildcards)
    return {
        **dict.fromkeys(("fine_tuning", "ablation", "cumulative_ablation"), tagging),
        "baselines": setting_for("stefanik2021", "test")(wildcards),
    }


def removal_memory(wildcards, attempt):
    """Megabytes for forward and backward passes of a tagger."""
    own = config["models"][wildcards.model]
    corpora = [
        config["corpora"][config["runs"][wildcards.run]["stefanik2021"][split]]
        for split in SPLITS
    ]
    needed = [
        max(costs.ablation_memory(own, corpus), costs.gradient_memory(own, corpus))
        for corpus in corpora
    ]
    return max(needed) * attempt


def views_memory(wildcards, attempt):
    own = config["models"][study_model(config, wildcards.run, "stefanik2021")]
    corpus = config["corpora"][
        config["runs"][wildcards.run]["stefanik2021"]["documents"]
    ]
    return costs.extraction_memory(own, corpus) * attempt
