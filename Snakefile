import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.25")


configfile: "config.yaml"


# Rule scripts import the package from here too, in local and in cluster jobs.
sys.path.insert(0, str(Path(workflow.basedir, "workflow", "lib")))


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/resources.smk"


wildcard_constraints:
    run=one_of(config["runs"]),
    model=one_of(config["models"]),
    corpus=one_of(config["corpora"]),
    shard=r"\d+",
    task=one_of(TASKS),
    edge_task=one_of(EDGE_TASKS),
    seed=r"\d+",


include: "workflow/rules/models.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/attention.smk"
include: "workflow/rules/clark2019.smk"
include: "workflow/rules/guan2020.smk"
include: "workflow/rules/kovaleva2019_inputs.smk"
include: "workflow/rules/kovaleva2019.smk"
include: "workflow/rules/michel2019_inputs.smk"
include: "workflow/rules/michel2019.smk"
include: "workflow/rules/tenney2019_inputs.smk"
include: "workflow/rules/hidden_states.smk"
include: "workflow/rules/tenney2019.smk"
include: "workflow/rules/stefanik2021_inputs.smk"
include: "workflow/rules/stefanik2021.smk"
include: "workflow/rules/atlas_inputs.smk"
include: "workflow/rules/atlas.smk"


rule all:
    default_target: True
    input:
        all_artifacts,
    localrule: True


rule tables:
    input:
        all_tables,
    localrule: True


rule figures:
    input:
        all_figures,
    localrule: True


rule attention:
    input:
        all_attention,
    localrule: True


rule clark2019:
    input:
        all_of("clark2019"),
    localrule: True


rule guan2020:
    input:
        all_of("guan2020"),
    localrule: True


rule kovaleva2019:
    input:
        all_of("kovaleva2019"),
    localrule: True


rule michel2019:
    input:
        all_of("michel2019"),
    localrule: True


rule tenney2019:
    input:
        all_of("tenney2019"),
    localrule: True


rule stefanik2021:
    input:
        all_of("stefanik2021"),
    localrule: True


rule atlas:
    input:
        all_of("atlas"),
    localrule: True


rule scoreboard:
    input:
        all_of("scoreboard"),
    localrule: True


onstart:
    logger.info(cache_forecast())
