"""Time limits of long jobs follow the plan."""

from shipped_runs import shipped, wildcards

from attention_atlas.workflow.cost_model import read_coefficients, seconds, workload
from attention_atlas.workflow.time_limits import MARGIN, time_limit

ON_CPU, ON_GPU = (shipped() | {"device": device} for device in ("cpu", "cuda"))
PROBES = wildcards("paper", model="bert-large-uncased", edge_tasks="dependencies", seed_part=0)


def test_a_long_job_has_half_as_much_again_as_planned():
    work = workload(ON_CPU, "tenney2019_probes", dict(PROBES.items()))
    planned = seconds(read_coefficients(), "tenney2019_probes", work, threads=4) / 60
    assert planned > 1440
    limit = time_limit(ON_CPU, "tenney2019_probes", 1440)
    assert [limit(PROBES, attempt) for attempt in (1, 2)] == [int(MARGIN * planned), 2 * int(MARGIN * planned)]
    # A model that a shared rule trains.
    assert time_limit(ON_CPU, "fine_tune", 480)(wildcards("paper", model="bert-large-mnli"), 1) > 24 * 60


def test_a_short_job_and_one_on_a_gpu_have_the_least():
    limit = time_limit(ON_CPU, "tenney2019_probes", 1440)
    assert [limit(wildcards(model="minilm", edge_tasks="pos", seed_part=0), attempt) for attempt in (1, 3)] == [1440, 3 * 1440]
    assert time_limit(ON_GPU, "tenney2019_probes", 1440)(PROBES, 1) == 1440
