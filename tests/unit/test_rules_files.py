"""The files of rules: each study's by itself, each rule with the digest of the code that it runs."""

import re
import subprocess
import sys
from collections import Counter

from rules_text import ROOT, RULES, bases_of, rules_of

from attention_atlas.workflow.shown import full_name, shown
from attention_atlas.workflow.study import studies

_CALL = re.compile(r'\.parameters\(\s*\*?\(?"(\w+):(\w+)"')
_SCRIPT = re.compile(r'"\.\./scripts/(\w+\.py)"')
SHOWN = [(item.kind, item.call.partition(":")[0]) for study in studies() for item in shown(study)]


def test_every_study_has_a_file_of_rules_whose_names_are_its_own():
    files = {path.stem: path for path in RULES}
    of_studies = {study.id for study in studies().values() if not study.overview} | {"atlas"}
    assert files.keys() == of_studies | {"models", "corpora", "shown"}
    defined = Counter()
    for name, path in files.items():
        text = path.read_text(encoding="utf-8")
        assert name not in of_studies or all(rule.startswith(f"{name}_") for rule in rules_of(path))
        # All files share their names: a constant of one would be another's.
        targets = re.findall(r"^(\w+(?:, \w+)*) \+?\|?= ", text, flags=re.M)
        defined.update({part for target in targets for part in target.split(", ")})
    assert [name for name, count in defined.items() if count > 1] == []
    assert len(defined) > 30


def test_what_is_hashed_is_what_is_run():
    for rule, (base, body) in rules_of(*RULES).items():
        if base:
            assert _CALL.search(body) or base == "fine_tune" or base == "tenney2019_second_model", f"{rule} names no function"
            continue
        (script,) = _SCRIPT.findall(body)
        assert (ROOT / "workflow/scripts" / script).is_file()
        assert f'script_digest("{script}")' in body or "inputs.examples_code" in body, rule


def loaded(modules: list[str], among: tuple[str, ...]) -> str:
    """Those of some libraries that importing modules loads."""
    code = "import sys, " + ", ".join(modules) + f"\nprint(*(name for name in {among!r} if name in sys.modules))"
    library = {"PYTHONPATH": str(ROOT / "workflow" / "lib")}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=library).stdout.strip()


def test_jobs_and_the_start_import_no_library_that_they_do_not_need():
    start = [f"attention_atlas.workflow.{name}" for name in ("artifacts", "job", "study_inputs", "unfinished")]
    assert loaded(start, ("numpy", "pandas", "pyarrow", "tokenizers", "torch", "transformers")) == ""
    with_torch = {"measured_by_model"} | {rule for rule, (_, text) in rules_of(*RULES).items() if "envs/model.yaml" in text}
    without = [(rule, text) for rule, (_, text) in rules_of(*RULES).items() if not with_torch & {*bases_of(rule)}]
    calls = {f"{rule.partition('_')[0]}.{call[1]}" for rule, text in without if (call := _CALL.search(text))}
    figures = {module for kind, module in SHOWN if kind == "figure"}
    assert len(calls) > 5
    assert loaded(sorted(map(full_name, calls | figures)), ("torch", "transformers")) == ""
    # The page of the atlas takes two colour maps from matplotlib.
    tables = {module for _, module in SHOWN} - figures - {"atlas.page"}
    assert loaded(sorted(map(full_name, tables)), ("matplotlib", "seaborn", "torch", "transformers")) == ""
