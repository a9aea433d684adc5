import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.25")

# Jobs inherit it: libraries that load a model print no progress bars of their own ("Loading weights").
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


# The folder of this file, which is not workflow.basedir where another workflow uses this one as a module.
home = Path(workflow.snakefile).absolute().parent
is_module = Path(workflow.basedir) != home
# The configuration is that of the working directory, if it has one; as a module, that of this folder.
folder = home if is_module or not Path("config.yaml").is_file() else Path()


configfile: str(folder / "config.yaml")


# Rule scripts import the package from here too, in local and in cluster jobs.
sys.path.insert(0, str(home / "workflow" / "lib"))

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.corpora.glue import TASKS
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import CLASSIFICATION, TRANSLATION
from attention_atlas.workflow.shared_inputs import bytes_of_maps, disk_space, pending
from attention_atlas.workflow.artifacts import Targets, other_versions, summary
from attention_atlas.workflow.config import environment, merged, read_configuration, resolve
from attention_atlas.workflow.paths import NAME, one_of
from attention_atlas.workflow.requirements import ENVIRONMENTS, without_missing
from attention_atlas.workflow.study import captions, studies
from attention_atlas.workflow.unfinished import interrupt_jobs, rerun_unfinished_jobs

try:
    # The registries are read here, since Snakemake's reader of configuration files takes ten times as long.
    named = resolve(merged(read_configuration(folder), config)) | {
        ENVIRONMENTS: bool(workflow.deployment_settings.deployment_method)
    }
except AtlasError as error:
    raise WorkflowError(str(error)) from None
# A new dictionary: that of a `module` statement is read again by each of its `use rule` statements.
config = {
    **without_missing(named),
    # What the template of captions looks up; no job reads it.
    "captions": captions(),
}
os.environ.update(environment(config))
targets = Targets(config, warn=logger.warning, named=named)
if workflow.is_main_process:
    rerun_unfinished_jobs()
    interrupt_jobs()


if not is_module:

    report: "workflow/report/workflow.rst"


wildcard_constraints:
    run=one_of(config["runs"]),
    model=NAME,
    corpus=NAME,
    shard=r"\d+",
    task=one_of(TASKS),
    edge_task=one_of(EDGE_TASKS),
    experiment=one_of((TRANSLATION, CLASSIFICATION)),
    seed=r"\d+",


include: "workflow/rules/measured.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/corpora.smk"


for study in studies().values():
    if not study.overview:

        include: f"workflow/rules/{study.id}.smk"


include: "workflow/rules/atlas.smk"
include: "workflow/rules/shown.smk"


rule all:
    default_target: True
    input:
        targets.artifacts(),
        targets.index_pages,
    localrule: True


rule tables:
    input:
        targets.artifacts(kind="table"),
    localrule: True


rule figures:
    input:
        targets.artifacts(kind="figure"),
    localrule: True


rule attention:
    input:
        targets.attention,
    localrule: True


for study in studies():

    rule:
        name:
            study
        input:
            targets.artifacts(study=study),
        localrule: True


onstart:
    if needed := bytes_of_maps(config, pending(workflow.dag.needrun_jobs())):
        sentence, enough = disk_space(config, needed)
        (logger.info if enough else logger.warning)(sentence)
    if sentence := other_versions(config):
        logger.warning(sentence)


onsuccess:
    print(summary(config), file=sys.stderr)


onerror:
    print(summary(config, failed=True), file=sys.stderr)
