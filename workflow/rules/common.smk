import os
import re

from snakemake.exceptions import WorkflowError

from attention_atlas.config import resolve
from attention_atlas.corpora.edges import EDGE_TASKS
from attention_atlas.corpora.glue import TASKS
from attention_atlas.costs import shape_of
from attention_atlas.errors import AtlasError
from attention_atlas.manifest import find_artifact, load_manifest
from attention_atlas.provenance import script_digest
from attention_atlas.runs import (
    STUDIES,
    family_member,
    family_seeds,
    limit_of,
    local_file,
    missing_files,
    shard_count,
    study_corpora,
    study_model,
    study_runs,
)

try:
    resolved = resolve(config)
except AtlasError as error:
    raise WorkflowError(str(error)) from None
config.clear()
config.update(resolved)

# Jobs look for a mirror and for the device in the environment, so that naming one does not change any job's parameters.
os.environ.update(ATLAS_DEVICE=config["device"])
if config["data_mirror"]:
    os.environ.update(ATLAS_DATA=str(config["data_mirror"]))


def one_of(names):
    """Pattern that matches exactly the names of a registry, and nothing where there are none."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


TRAINED = [
    name for name, entry in config["models"].items() if "fine_tuned" in entry["source"]
]
# Those whose weights after some epochs of their training are kept.
FOLLOWED = [
    name for name in TRAINED if "keep_epochs" in config["models"][name]["training"]
]


def extracted(run, study):
    """(model, corpus, records) whose attention a study reads, variants included."""
    found = {}
    for model, corpus in PAIRS[study](run):
        samples = config["runs"][run][study].get("samples")
        records = limit_of(config, run, corpus)
        found[model, corpus] = min(samples, records) if samples else records
    return [(*pair, records) for pair, records in found.items()]


def clark2019_pairs(run):
    settings, study = config["runs"][run]["clark2019"], "clark2019"
    model, corpora = (
        study_model(config, run, study),
        study_corpora(config, run, study),
    )
    pairs = [(model, corpus) for role, corpus in corpora.items() if role != "vectors"]
    if "probe_training" in corpora:
        pairs += [
            (random, corpora[role])
            for random in settings["probes"]["random_models"]
            for role in ("probe_training", "dependencies")
        ]
    for variant, name in settings["variants"].items():
        if variant == "casing":
            pairs += [(name, corpora[role]) for role in ("segments", "dependencies")]
        else:
            pairs.append((model, name))
    return pairs


def guan2020_pairs(run):
    return list(guan2020_models(run).values())


def guan2020_models(run):
    """Name -> (model, corpus) of the models of Table 1 and Figure 4: pre-trained, the study's own, others."""
    settings, study = config["runs"][run]["guan2020"], "guan2020"
    compared = {
        name: (pair["model"], pair["corpus"])
        for name, pair in settings["compared"].items()
        if config["missing"] == "error"
        or not missing_files(config, pair_corpora(pair["model"], pair["corpus"]))
    }
    own = {"squad": (study_model(config, run, study), settings["questions"])}
    first = {name: compared[name] for name in compared if name == "pretrain"}
    return first | own | compared


def pair_corpora(model, corpus):
    """A corpus, and the one that the model is fine-tuned on, if it is."""
    training = config["models"][model].get("training")
    return [corpus, training["corpus"]] if training else [corpus]


def guan2020_corpora(run):
    """Corpora of the compared models, and those that they are fine-tuned on."""
    pairs = guan2020_pairs(run)
    return [name for pair in pairs for name in pair_corpora(*pair)]


# Study -> corpora that it reads beside its roles.
FURTHER_CORPORA = {"guan2020": guan2020_corpora}
PAIRS = {"clark2019": clark2019_pairs, "guan2020": guan2020_pairs}


def artifact_files(kind=None, study=None):
    """Files of the manifest's artefacts for all target runs.

    Artefacts that need a corpus or a model which a run does not name are none of that run's. Those whose licensed corpora are missing
    are left out (`missing: skip`) or are an error that lists those corpora.
    """
    files, gaps = [], {}
    for artifact in load_manifest():
        if (kind and artifact.kind != kind) or (study and artifact.study != study):
            continue
        for run in study_runs(config, artifact.study):
            absent = wanting(run, artifact)
            if absent:
                gaps |= absent
            elif absent is not None:
                files += artifact.paths(run)
    settle(gaps)
    return files


def wanting(run, artifact):
    """Corpora whose missing files an artefact of a run waits for -> a sentence each; None where it is none of the run's."""
    if not config["runs"][run][artifact.study].keys() >= set(artifact.needs):
        return None
    corpora = study_corpora(config, run, artifact.study)
    used = [role for role in (*artifact.needs, *artifact.uses) if role in corpora]
    further = FURTHER_CORPORA.get(artifact.study, lambda run: [])(run)
    return missing_files(config, [*(corpora[role] for role in used), *further])


def settle(gaps):
    """Report missing files: as an error, or as a warning when the configuration says to skip what needs them."""
    if not gaps:
        return
    needed = [text for corpus, text in gaps.items() if not may_be_missing(corpus)]
    if needed:
        raise WorkflowError(
            f"{' '.join(needed)} Put the file there, or set `missing: skip` to build everything that does not need it."
        )
    logger.warning(f"left out what needs missing files: {' '.join(gaps.values())}")


def may_be_missing(corpus):
    """Whether what needs a corpus is left out where its file is not there."""
    return config["missing"] == "skip" or config["corpora"][corpus]["optional"]


def all_artifacts(wildcards):
    return artifact_files()


def all_tables(wildcards):
    return artifact_files(kind="table")


def all_figures(wildcards):
    return artifact_files(kind="figure")


def all_of(study):
    """Input function: all artefacts of a study in the target runs."""

    def files(wildcards):
        return artifact_files(study=study)

    return files


def all_attention(wildcards):
    files, gaps = [], {}
    for study in STUDIES:
        for run in study_runs(config, study):
            for model, corpus, records in extracted(run, study):
                absent = missing_files(config, [corpus])
                gaps |= absent
                if not absent:
                    files += shard_paths(
                        run, model, corpus, "attention", "safetensors", records
                    )
    settle(gaps)
    return list(dict.fromkeys(files))


def shard_paths(run, model, corpus, folder, suffix, records=None):
    """Paths of the shards with the first records (default: all) of a corpus: folder is attention, hidden or examples."""
    count = shard_count(config, run, corpus, records)
    owner = tokenised_by(model) if folder == "examples" else model
    return [
        f"results/{run}/{folder}/{owner}/{corpus}/{shard}.{suffix}"
        for shard in range(count)
    ]


def tokenised_by(model):
    """The model whose examples a model reads: what it is trained from, and of several with the same files the first named."""
    models = config["models"]
    while "fine_tuned" in models[model]["source"]:
        model = base_of(model)
    same = (
        name
        for name, entry in models.items()
        if all(
            entry.get(key) == models[model].get(key) for key in ("source", "tokenizer")
        )
    )
    return next(same)


def card(run, model):
    return f"results/{run}/models/{model}/card.json"


def about(study, name):
    """Caption, category and labels of an artefact in the report."""
    artifact = find_artifact(study, name)
    return {
        "caption": f"../report/{study}/{name}.rst",
        "category": artifact.category,
        "labels": {
            "run": "{run}",
            "artefact": artifact.number,
            "shows": artifact.title,
        },
    }


def run_title(wildcards):
    """What tables and figures call a run."""
    return config["runs"][wildcards.run].get("title", wildcards.run)


def title_of(corpus):
    return config["corpora"][corpus].get("title", corpus)


def setting(wildcards, model, corpus):
    """What a table or figure says about the run, see attention_atlas.studies.setting."""
    return {
        "run": run_title(wildcards),
        "model": model,
        "corpus": title_of(corpus),
        "model_reference": config["models"][model].get("reference", ""),
        "corpus_reference": config["corpora"][corpus].get("reference", ""),
        "sample": "sample" in config["corpora"][corpus]["source"],
        "converted": config["corpora"][corpus]["view"] == "stanford",
    }


def cache_forecast():
    """One line on the size of the attention caches of the target runs, before the first job."""
    sizes = {}
    for study in STUDIES:
        for run in study_runs(config, study):
            for model, corpus, records in extracted(run, study):
                cells = shape_of(config["models"][model]).cells(
                    config["corpora"][corpus]["max_tokens"]
                )
                size = 2 * records * cells
                sizes[run, model, corpus] = max(
                    size, sizes.get((run, model, corpus), 0)
                )
    total = sum(sizes.values())
    return f"attention caches of {', '.join(config['targets'])}: at most {total / 1e9:.1f} GB in float16"


def settings(*path):
    """Params function: one leaf of the run's configuration."""

    def leaf(wildcards):
        value = config["runs"][wildcards.run]
        for key in path:
            value = value[key]
        return value

    return leaf


def model_entry(wildcards):
    return weights_entry(wildcards.run, wildcards.model)


WEIGHTS_KEYS = (
    "source",
    "sha256",
    "tokenizer",
    "layers",
    "heads",
    "init",
    "seed",
    "dtype",
)


def weights_entry(run, model):
    """The part of a model's registry entry that its weights depend on; of a model that is fine-tuned here, its checkpoint."""
    entry = config["models"][model]
    kept = {key: entry[key] for key in WEIGHTS_KEYS if key in entry}
    if "fine_tuned" in entry["source"]:
        kept["source"] = {"path": f"results/{run}/models/{model}/checkpoint"}
        # Its own init says what its training starts from.
        kept["init"] = "pretrained"
    if "blank" in entry["source"]:
        kept["source"] = {"path": f"results/{run}/models/{model}/blank"}
    return kept


def begun_here(wildcards):
    """Input function: the file that says that a model which is begun here is there."""
    blank = "blank" in config["models"][wildcards.model]["source"]
    folder = f"results/{wildcards.run}/models/{wildcards.model}"
    return [f"{folder}/blank/config.json"] if blank else []


def blank_source(wildcards):
    source = config["models"][wildcards.model]["source"]
    if "blank" not in source:
        raise WorkflowError(
            f"model {wildcards.model} has weights already: it is not begun here."
        )
    return source["blank"]


def blank_files(wildcards):
    """Input function: the parallel text that a new vocabulary is learnt from."""
    corpus = blank_source(wildcards)["corpus"]
    beside = config["corpora"][corpus].get("translations")
    return [raw_path(wildcards.run, name) for name in (corpus, beside) if name]


def blank_settings(wildcards):
    """Params function: shape of a new model, and the languages and records of the text for its vocabulary."""
    entry, source = config["models"][wildcards.model], blank_source(wildcards)
    return source | {
        "layers": entry["layers"],
        "heads": entry["heads"],
        "languages": config["corpora"][source["corpus"]]["languages"],
        "records": limit_of(config, wildcards.run, source["corpus"]),
    }


def base_of(model):
    """The model that a fine-tuned one starts from."""
    return config["models"][model]["source"]["fine_tuned"]


def base_card(wildcards):
    return card(wildcards.run, base_of(wildcards.model))


def base_entry(wildcards):
    """What a fine-tuned model starts from: the weights of its base, or random ones."""
    entry = config["models"][wildcards.model]
    base = weights_entry(wildcards.run, base_of(wildcards.model))
    if entry["init"] == "pretrained":
        return base
    return base | {"init": entry["init"], "seed": entry["seed"]}


def training_settings(wildcards):
    """How a model is fine-tuned, and whether its labels are scores."""
    training = config["models"][wildcards.model]["training"]
    task = config["corpora"][training["corpus"]].get("task")
    return training | {"regression": task is not None and TASKS[task].regression}


def training_examples(wildcards):
    corpus = training_settings(wildcards)["corpus"]
    return shard_paths(
        wildcards.run, base_of(wildcards.model), corpus, "examples", "parquet"
    )


def training_limit(wildcards):
    return limit_of(config, wildcards.run, training_settings(wildcards)["corpus"])


EXAMPLE_KEYS = (
    "reader",
    "view",
    "lines",
    "recipe",
    "segment_ids",
    "seed",
    "windows",
    "stride",
    "order",
    "task",
    "overlong",
    "skip",
    "languages",
    "form",
    "edge_tasks",
    "part",
    "stemmed",
    "max_tokens",
    "shard",
)


def raw_file(wildcards):
    """The raw file of a corpus: the user's own, generated, or fetched."""
    return raw_path(wildcards.run, wildcards.corpus)


def raw_path(run, corpus):
    source = config["corpora"][corpus]["source"]
    if "path" in source:
        gaps = missing_files(config, [corpus])
        if gaps:
            raise WorkflowError(" ".join(gaps.values()))
        return str(local_file(config, corpus))
    if "sample" in source:
        return f"results/{run}/corpora/sample/{source['sample']}"
    return f"results/{run}/corpora/{corpus}.raw"


def file_beside(wildcards):
    """The treebank with the sentences of a coreference corpus, or the translations of a parallel one, if it has such a file."""
    entry = config["corpora"][wildcards.corpus]
    names = [entry[key] for key in ("trees", "translations") if key in entry]
    return [raw_path(wildcards.run, name) for name in names]


def fetched_source(wildcards):
    return config["corpora"][wildcards.corpus]["source"]


def fetched_reader(wildcards):
    return config["corpora"][wildcards.corpus]["reader"]


def example_entry(wildcards):
    """The part of a corpus's registry entry that its examples depend on; not its limit, so that a larger one keeps shards."""
    entry = config["corpora"][wildcards.corpus]
    return {key: entry[key] for key in EXAMPLE_KEYS if key in entry}


def shard_start(wildcards):
    return int(wildcards.shard) * config["corpora"][wildcards.corpus]["shard"]


def examples_of_shard(wildcards):
    """Input function: examples of the shard in the path, for the model in it."""
    owner, corpus = tokenised_by(wildcards.model), wildcards.corpus
    return (
        f"results/{wildcards.run}/examples/{owner}/{corpus}/{wildcards.shard}.parquet"
    )


def example_shards(wildcards):
    """All shards of examples of the corpus and model in the path."""
    return shard_paths(
        wildcards.run, wildcards.model, wildcards.corpus, "examples", "parquet"
    )


def corpus_limit(wildcards):
    return limit_of(config, wildcards.run, wildcards.corpus)


def mlm_head_settings(wildcards):
    return config["models"][wildcards.model]["mlm_head"]


def corpus_level(wildcards):
    return config["corpora"][wildcards.corpus]["level"]


# Study -> role -> its key that names the model of this role, where it is not the study's own.
ROLE_MODELS = {}


def looked_at(wildcards, study, role):
    """(model, corpus) behind a role of the study, or behind one of its variants."""
    chosen = config["runs"][wildcards.run][study]
    if role not in chosen:
        raise WorkflowError(
            f"runs.{wildcards.run}.{study} names no corpus for the role '{role}', which this file needs: add it to the run."
        )
    own = ROLE_MODELS.get(study, {}).get(role)
    model = chosen[own] if own else study_model(config, wildcards.run, study)
    corpus = chosen[role]
    variant = wildcards.get("variant")
    if variant == "casing":
        model = chosen["variants"][variant]
    elif variant:
        corpus = chosen["variants"][variant]
    return model, corpus


def shards_of(study, role, folder="attention", suffix="safetensors"):
    """Input function: all shards of a role."""

    def paths(wildcards):
        return shard_paths(
            wildcards.run, *looked_at(wildcards, study, role), folder, suffix
        )

    return paths


def shard_of(study, role, folder="attention", suffix="safetensors"):
    """Input function: the shard in the path, of a role."""

    def path(wildcards):
        return shards_of(study, role, folder, suffix)(wildcards)[int(wildcards.shard)]

    return path


def of_each_shard(study, role, pattern):
    """Input function: a file for each shard of a role."""

    def paths(wildcards):
        count = len(shards_of(study, role)(wildcards))
        return expand(pattern, run=wildcards.run, shard=range(count))

    return paths


def first_shard_of(study, role, folder="attention", suffix="safetensors"):
    """Input function: the first shard of a role, for drawn examples."""

    def path(wildcards):
        return shards_of(study, role, folder, suffix)(wildcards)[0]

    return path


def card_of(study, role):
    def path(wildcards):
        return card(wildcards.run, looked_at(wildcards, study, role)[0])

    return path


def head_of(study, role, suffix):
    """Input function: the model's head for hidden pieces, or its facts, for the text of a role."""

    def path(wildcards):
        model, corpus = looked_at(wildcards, study, role)
        return f"results/{wildcards.run}/models/{model}/mlm_head/{corpus}.{suffix}"

    return path


def model_of(study):
    """Params function: registry entry of the study's model."""

    def entry(wildcards):
        return weights_entry(wildcards.run, study_model(config, wildcards.run, study))

    return entry


def role_model_of(study, role):
    """Params function: registry entry of a role's model."""

    def entry(wildcards):
        return weights_entry(wildcards.run, looked_at(wildcards, study, role)[0])

    return entry


def probed(role, study, folder="attention", suffix="safetensors"):
    """Input function: all shards of a role, for the model in the path."""

    def paths(wildcards):
        corpus = looked_at(wildcards, study, role)[1]
        return shard_paths(wildcards.run, wildcards.model, corpus, folder, suffix)

    return paths


def vectors_file(study):
    """Input function: the word vectors that the run names, if any."""

    def path(wildcards):
        corpus = config["runs"][wildcards.run][study].get("vectors")
        return [raw_path(wildcards.run, corpus)] if corpus else []

    return path


def vectors_encoding(study):
    def name(wildcards):
        corpus = config["runs"][wildcards.run][study].get("vectors")
        return config["corpora"][corpus]["encoding"] if corpus else ""

    return name


def study_model_name(study):
    def name(wildcards):
        return study_model(config, wildcards.run, study)

    return name


def probe_tables(study, suffix):
    """Input function: what the probes of the run's own model got right."""

    def path(wildcards):
        model = study_model(config, wildcards.run, study)
        return f"results/{wildcards.run}/{study}/probes/{model}.{suffix}"

    return path


def own_training_summary(study):
    """Input function: what the probes were trained on, or nothing where a run trains none."""

    def path(wildcards):
        there = "probe_training" in config["runs"][wildcards.run][study]
        return [probe_tables(study, "training.tsv")(wildcards)] if there else []

    return path


def settings_by_role(study, *roles):
    """Params function: role -> what was looked at, for those of the roles that the run names."""

    def words(wildcards):
        named = study_corpora(config, wildcards.run, study)
        return {
            role: setting_for(study, role)(wildcards) for role in roles if role in named
        }

    return words


def random_probe_tables(study):
    """Input function: what the probes of models with random weights got right."""

    def paths(wildcards):
        models = config["runs"][wildcards.run][study]["probes"]["random_models"]
        return [
            f"results/{wildcards.run}/{study}/probes/{model}.tsv" for model in models
        ]

    return paths


def probe_recipe(study):
    """Params function: how probes are trained."""

    def recipe(wildcards):
        chosen = config["runs"][wildcards.run][study]["probes"]
        keys = ("batch", "epochs", "learning_rate", "order", "seeds")
        return {key: chosen[key] for key in keys}

    return recipe


def title_for(study, role):
    def name(wildcards):
        return title_of(looked_at(wildcards, study, role)[1])

    return name


def title_if(study, role):
    """Params function: title of a role's corpus, or nothing where the run names none."""

    def name(wildcards):
        corpus = config["runs"][wildcards.run][study].get(role)
        return title_of(corpus) if corpus else ""

    return name


def limit_for(study, role):
    def number(wildcards):
        return limit_of(config, wildcards.run, looked_at(wildcards, study, role)[1])

    return number


def first_coreference(study):
    """Input function: what the coreference head is drawn from, in a run with such a corpus: shard, examples, Table 2."""

    def paths(wildcards):
        run = wildcards.run
        if "coreference" not in config["runs"][run][study]:
            return []
        model, corpus = looked_at(wildcards, study, "coreference")
        kinds = (("attention", "safetensors"), ("examples", "parquet"))
        firsts = [shard_paths(run, model, corpus, *kind)[0] for kind in kinds]
        return [*firsts, f"results/{run}/{study}/table2.tsv"]

    return paths


def with_role(study, role, name):
    """Input function: a table of the study, or nothing where the run names no corpus for the role that it needs."""

    def path(wildcards):
        there = role in config["runs"][wildcards.run][study]
        return [f"results/{wildcards.run}/{study}/{name}"] if there else []

    return path


def setting_for(study, role):
    def words(wildcards):
        return setting(wildcards, *looked_at(wildcards, study, role))

    return words


def variant_tables(study):
    """Params function: variant -> its tables by kind."""

    def tables(wildcards):
        folder = f"results/{wildcards.run}/{study}/variants"
        found = {}
        for variant in config["runs"][wildcards.run][study]["variants"]:
            found[variant] = {"surface": f"{folder}/{variant}/surface.tsv"}
            if variant == "casing":
                found[variant]["relations"] = f"{folder}/{variant}/relations.tsv"
        return found

    return tables


def variant_files(study):
    """Input function: all tables of all variants."""

    def paths(wildcards):
        return [
            path
            for tables in variant_tables(study)(wildcards).values()
            for path in tables.values()
        ]

    return paths


def shards_by_corpus(study, pairs=None):
    """Params function: corpus -> (tables of examples, tables of dropped records, limit), for the table of what was left out.

    `pairs` gives (model, corpus) of a run; without it, those whose attention the study reads.
    """

    def found(wildcards):
        run, by_corpus = wildcards.run, {}
        own = study_model(config, run, study)
        for model, corpus in pairs(run) if pairs else extracted_pairs(run, study):
            name = title_of(corpus)
            name = name if model == own else f"{name} ({model})"
            examples = shard_paths(run, model, corpus, "examples", "parquet")
            dropped = shard_paths(run, model, corpus, "examples", "dropped.tsv")
            # Two corpora may have one title.
            by_corpus[corpus if name in by_corpus else name] = [
                examples,
                dropped,
                limit_of(config, run, corpus),
            ]
        return by_corpus

    return found


def extracted_pairs(run, study):
    return [(model, corpus) for model, corpus, _ in extracted(run, study)]


def example_files(study, pairs=None):
    """Input function: all tables of examples and of dropped records that a study reads."""

    def paths(wildcards):
        groups = shards_by_corpus(study, pairs)(wildcards).values()
        return [
            path for examples, dropped, _ in groups for path in (*examples, *dropped)
        ]

    return paths


def sampled(suffix, folder="attention"):
    """Input function: the shards that the features of Guan et al. are averaged over, for the model and corpus in the path."""

    def paths(wildcards):
        samples = config["runs"][wildcards.run]["guan2020"]["samples"]
        return shard_paths(
            wildcards.run, wildcards.model, wildcards.corpus, folder, suffix, samples
        )

    return paths


def own_features(wildcards):
    model, corpus = guan2020_models(wildcards.run)["squad"]
    return features_path(wildcards.run, model, corpus)


def features_path(run, model, corpus):
    return f"results/{run}/guan2020/features/{model}/{corpus}.safetensors"


def compared_features(wildcards):
    pairs = guan2020_models(wildcards.run).values()
    return [features_path(wildcards.run, *pair) for pair in pairs]


def compared_names(wildcards):
    return list(guan2020_models(wildcards.run))


def compared_models_settings(wildcards):
    """Params function: name of a compared model -> what was looked at."""
    pairs = guan2020_models(wildcards.run)
    return {name: setting(wildcards, *pair) for name, pair in pairs.items()}


def feature_limit(study, role):
    """Params function: records of a role that the features are averaged over."""

    def number(wildcards):
        samples = config["runs"][wildcards.run][study]["samples"]
        return min(samples, limit_for(study, role)(wildcards))

    return number
