# Kovaleva et al. (2019), Revealing the Dark Secrets of BERT. Input: a pre-trained model and models fine-tuned on tasks of GLUE,
# examples of those tasks, sentences with frames. Output: results/{run}/kovaleva2019, see studies/kovaleva2019/study.py.

from attention_atlas.workflow.inputs.kovaleva2019 import Kovaleva2019Inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import gpus, memory, minutes

kovaleva2019 = Kovaleva2019Inputs(config)


rule kovaleva2019_predictions:
    input:
        card=kovaleva2019.pretrained_card,
        examples=kovaleva2019.task_examples,
        weights=kovaleva2019.task_weights,
    output:
        "results/{run}/kovaleva2019/predictions/{task}.parquet",
    log:
        "results/{run}/logs/kovaleva2019/predictions/{task}.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/predictions/{task}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=kovaleva2019.model_memory(),
        runtime=minutes(240),
        gpu=gpus(config),
    params:
        base=kovaleva2019.model(),
        members=kovaleva2019.task_members,
        limit=kovaleva2019.task_limit,
        regression=kovaleva2019.is_regression,
        classifier_seeds=kovaleva2019.settings("classifier_seeds"),
        code=script_digest("kovaleva2019_predictions.py"),
    script:
        "../scripts/kovaleva2019_predictions.py"


rule kovaleva2019_patterns:
    input:
        card=kovaleva2019.patterns_card,
        tokenizer=kovaleva2019.patterns_tokenizer,
    output:
        network="results/{run}/kovaleva2019/patterns/network.safetensors",
        thresholds="results/{run}/kovaleva2019/patterns/thresholds.json",
        tsv="results/{run}/kovaleva2019/patterns.tsv",
        html=report(
            "results/{run}/kovaleva2019/patterns.html",
            **kovaleva2019.about("patterns"),
        ),
        labelling="results/{run}/kovaleva2019/labelling.html",
    log:
        "results/{run}/logs/kovaleva2019/patterns.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/patterns.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(60),
        gpu=gpus(config),
    params:
        model=kovaleva2019.patterns_entry,
        settings=kovaleva2019.settings("patterns"),
        resamples=kovaleva2019.settings("resamples"),
        seed=kovaleva2019.settings("seed"),
        line=kovaleva2019.run_title,
        links=kovaleva2019.links(html="patterns.html", labelling="labelling.html"),
        code=script_digest(
            "kovaleva2019_patterns.py",
            "kovaleva2019/annotated_maps.csv",
            "kovaleva2019/annotated_texts.jsonl",
        ),
    script:
        "../scripts/kovaleva2019_patterns.py"


rule kovaleva2019_measures:
    input:
        card=kovaleva2019.pretrained_card,
        examples=kovaleva2019.examples_with("measured_records"),
        weights=kovaleva2019.tuned_weights,
        network="results/{run}/kovaleva2019/patterns/network.safetensors",
        thresholds="results/{run}/kovaleva2019/patterns/thresholds.json",
    output:
        "results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors",
    log:
        "results/{run}/logs/kovaleva2019/measures/{task}-{seed}.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/measures/{task}-{seed}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=kovaleva2019.model_memory(),
        runtime=minutes(240),
        gpu=gpus(config),
    params:
        base=kovaleva2019.model(),
        tuned=kovaleva2019.tuned_entry,
        limit=kovaleva2019.records("measured_records"),
        padded=kovaleva2019.settings("padded"),
        tagger=kovaleva2019.settings("tagger"),
        seed=kovaleva2019.settings("seed"),
        code=script_digest("kovaleva2019_measures.py"),
    script:
        "../scripts/kovaleva2019_measures.py"


rule kovaleva2019_changes:
    input:
        kovaleva2019.files_of("measures"),
    output:
        classes="results/{run}/kovaleva2019/changes/classes.tsv",
        head_classes="results/{run}/kovaleva2019/changes/head_classes.tsv",
        cosine="results/{run}/kovaleva2019/changes/cosine.tsv",
        special="results/{run}/kovaleva2019/changes/special.tsv",
        first_row="results/{run}/kovaleva2019/changes/first_row.tsv",
        features="results/{run}/kovaleva2019/changes/features.tsv",
        links="results/{run}/kovaleva2019/changes/links.tsv",
        options="results/{run}/kovaleva2019/changes/options.tsv",
        statistics="results/{run}/kovaleva2019/changes/statistics.tsv",
    log:
        "results/{run}/logs/kovaleva2019/changes.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/changes.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(30),
    params:
        files=kovaleva2019.placed(kovaleva2019.by_task_and_seed("measures")),
        resamples=kovaleva2019.settings("resamples"),
        seed=kovaleva2019.settings("seed"),
        code=script_digest("kovaleva2019_changes.py"),
    script:
        "../scripts/kovaleva2019_changes.py"


rule kovaleva2019_disabled:
    input:
        card=kovaleva2019.pretrained_card,
        examples=kovaleva2019.examples_with("ablated_records"),
        weights=kovaleva2019.tuned_weights,
    output:
        "results/{run}/kovaleva2019/disabled/{task}-{seed}.parquet",
    log:
        "results/{run}/logs/kovaleva2019/disabled/{task}-{seed}.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/disabled/{task}-{seed}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=kovaleva2019.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=kovaleva2019.tuned_entry,
        limit=kovaleva2019.records("ablated_records"),
        regression=kovaleva2019.is_regression,
        actions=kovaleva2019.disabling_actions,
        code=script_digest("kovaleva2019_disabled.py"),
    script:
        "../scripts/kovaleva2019_disabled.py"


rule kovaleva2019_frames:
    input:
        shards=kovaleva2019.shards("frames"),
        descriptions=kovaleva2019.shards("frames", suffix="json"),
        examples=kovaleva2019.examples("frames"),
    output:
        tsv="results/{run}/kovaleva2019/frames.tsv",
        options="results/{run}/kovaleva2019/frame_options.tsv",
        options_html=report(
            "results/{run}/kovaleva2019/frame_options.html",
            **kovaleva2019.about("frame_options"),
        ),
        sentence="results/{run}/kovaleva2019/frame_sentence.tsv",
    log:
        "results/{run}/logs/kovaleva2019/frames.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/frames.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        # 24 values for each head and sentence.
        mem_mb=kovaleva2019.map_memory("frames", 8 * 24),
        runtime=minutes(30),
    params:
        limit=kovaleva2019.limit("frames"),
        pairing=kovaleva2019.settings("pairing"),
        direction=kovaleva2019.settings("direction"),
        resamples=kovaleva2019.settings("resamples"),
        seed=kovaleva2019.settings("seed"),
        label=kovaleva2019.label("frames"),
        links=kovaleva2019.links(options_html="frame_options.html"),
        code=script_digest("kovaleva2019_frames.py"),
    script:
        "../scripts/kovaleva2019_frames.py"


rule kovaleva2019_drawn:
    input:
        card=kovaleva2019.pretrained_card,
        examples=kovaleva2019.drawn_examples,
        weights=kovaleva2019.drawn_weights,
        network="results/{run}/kovaleva2019/patterns/network.safetensors",
        thresholds="results/{run}/kovaleva2019/patterns/thresholds.json",
    output:
        "results/{run}/kovaleva2019/drawn.tsv",
    log:
        "results/{run}/logs/kovaleva2019/drawn.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/drawn.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(30),
        gpu=gpus(config),
    params:
        model=kovaleva2019.drawn_entry,
        limit=kovaleva2019.drawn_limit,
        task=kovaleva2019.drawn_task,
        code=script_digest("kovaleva2019_drawn.py"),
    script:
        "../scripts/kovaleva2019_drawn.py"
