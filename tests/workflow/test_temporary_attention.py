"""A run that does not keep its attention maps: they go after their last reader, and the tables are the same."""

import pytest
from workspaces import SMALL, small_run

TREES = "results/sample/attention/minilm/sample-trees"
TABLE = "results/sample/clark2019/dependencies.tsv"
WITHOUT_MAPS = (*SMALL, "--config", "keep_attention=False")


@pytest.mark.long
def test_maps_go_after_their_last_reader_and_the_table_is_the_same(tmp_path):
    for name in ("keeping", "removing"):
        (tmp_path / name).mkdir()
    keeping, removing = small_run(tmp_path / "keeping"), small_run(tmp_path / "removing")
    keeping.snakemake(*SMALL, "--", TABLE)
    assert removing.jobs(*WITHOUT_MAPS, "--", TABLE) == keeping.jobs(*SMALL, "--forceall", "--", TABLE)
    removing.snakemake(*WITHOUT_MAPS, "--", TABLE)
    assert (removing.folder / TABLE).read_bytes() == (keeping.folder / TABLE).read_bytes()
    kept = sorted(path.name for path in (keeping.folder / TREES).iterdir())
    assert kept == ["0.json", "0.safetensors", "1.json", "1.safetensors"]
    assert sorted(path.name for path in (removing.folder / TREES).iterdir()) == ["0.json", "1.json"]
    # A second start has nothing to do, also where it would keep them.
    assert removing.jobs(*WITHOUT_MAPS, "--", TABLE) == {}
    assert removing.jobs(*SMALL, "--", TABLE) == {}
    # What has to be made again has its maps extracted again.
    (removing.folder / TABLE).unlink()
    assert removing.jobs(*WITHOUT_MAPS, "--", TABLE) == {"extract_attention": 2, "clark2019_dependencies": 1}
