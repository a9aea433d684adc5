"""What README and documentation name exists: commands, files, columns of the repository, and settings in examples."""

import re
from pathlib import Path

import pytest
import yaml
from small_config import sentence

from attention_atlas.workflow.config import merged, read_configuration, resolve

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}


def overlays() -> list[tuple[str, dict]]:
    """(page, overlay) of each YAML example with models, corpora, families or runs."""
    examples = []
    for page, text in TEXTS.items():
        for block in re.findall(r"^ *```yaml\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
            read = yaml.safe_load(block)
            if isinstance(read, dict) and {"models", "corpora", "families", "runs"} & set(read):
                examples.append((page, read))
    return examples


@pytest.mark.parametrize(("page", "overlay"), overlays())
def test_examples_of_overlays_are_valid_configurations(page, overlay):
    if any(
        {"pretokenised", "cola"} & {entry.get("reader"), entry.get("task")} for entry in overlay.get("corpora", {}).values()
    ):
        # A reader and a task that the guide adds: the schema does not know them, and says so.
        assert "is not one of" in sentence(merged(read_configuration(ROOT), overlay))
        return
    named = {
        "corpora": {"my-treebank": {"reader": "conllu", "source": {"path": "my/treebank.conllu"}, "limit": 5000}},
        # The shape of a model whose files are not here.
        "models": {name: {"layers": 12, "heads": 12, "hidden_size": 768} for name in overlay.get("models", {})},
    }
    resolve(merged(merged(read_configuration(ROOT), overlay), named))
