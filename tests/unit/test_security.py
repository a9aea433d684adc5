"""Nothing that is read runs code, nothing writes outside its folder, and no secret is told."""

import ast
import io
import json
import pickle
import re
import tarfile
from pathlib import Path

import datasets
import pooch
import pytest
from tiny_models import HEADS, LAYERS, WIDTH, tiny

from attention_atlas.corpora.conll2012 import conll2012_records
from attention_atlas.corpora.sources import fetch
from attention_atlas.errors import AtlasError
from attention_atlas.io.hub_files import is_commit
from attention_atlas.models.loading import describe, load_model
from attention_atlas.workflow.config import read_configuration, read_schema, resolve
from attention_atlas.workflow.job import job

ROOT = Path(__file__).resolve().parents[2]
CODE = [*(ROOT / "workflow").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
RULES = [ROOT / "Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in CODE}
TOKEN = "hf_" + "aBcD1234" * 4


def calls():
    """Path, dotted name and node of every call."""
    for path, tree in TREES.items():
        yield from ((path, ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call))


def keywords(call: ast.Call) -> dict[str | None, str]:
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}


def test_no_module_reads_pickles_unpacks_archives_or_starts_a_shell():
    assert len(CODE) > 80
    for path, tree in TREES.items():
        modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not modules & {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}, path
    for path, name, call in calls():
        place = f"{path}:{call.lineno}"
        assert name not in {"pd.read_pickle", "eval", "exec", "os.system", "os.popen", "subprocess.getoutput"}, place
        assert name.split(".")[-1] not in ("extractall", "unpack_archive"), place
        assert name != "torch.load" or keywords(call).get("weights_only") == "True", place
        assert not {"allow_pickle", "shell"} & keywords(call).keys(), place
    assert not [path for path in RULES if "shell:" in path.read_text(encoding="utf-8")]


@pytest.fixture
def model(tmp_path):
    """Folder and registry entry of a tiny model."""
    folder = tmp_path / "tiny"
    tiny("bert").save_pretrained(folder)
    entry = {"source": {"path": str(folder)}, "layers": LAYERS, "heads": HEADS, "hidden_size": WIDTH}
    return folder, entry | {"init": "pretrained", "seed": 0, "dtype": "float32"}


class Payload:
    """Leaves a mark in the file system when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_weights_that_are_a_pickle_with_code_do_not_run_it(model, tmp_path):
    folder, entry = model
    mark = tmp_path / "it ran"
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(mark)))
    with pytest.raises(AtlasError, match="the weights cannot be read"):
        load_model(entry)
    assert not mark.exists()


def test_code_that_comes_with_a_model_does_not_run(model, tmp_path, monkeypatch):
    for path, name, call in calls():
        called = ast.unparse(call.args[0]) if name == "functools.partial" else name
        if called.endswith((".from_pretrained", ".from_config")):
            assert keywords(call).get("trust_remote_code") == "False", f"{path}:{call.lineno} {name}"
    # Without the keyword, transformers asks on the terminal.
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    folder, entry = model
    mark = tmp_path / "it ran"
    text = f"from pathlib import Path\nPath({str(mark)!r}).touch()\nfrom transformers import BertConfig as OtherConfig\n"
    (folder / "other.py").write_text(text + "from transformers import BertModel as OtherModel\n")
    settings = json.loads((folder / "config.json").read_text()) | {"model_type": "other"}
    settings["auto_map"] = {"AutoConfig": "other.OtherConfig", "AutoModel": "other.OtherModel"}
    (folder / "config.json").write_text(json.dumps(settings))
    for read in (lambda: load_model(entry), lambda: describe("tiny", entry, tmp_path / "c.json", tmp_path / "t.json")):
        with pytest.raises(AtlasError, match=r"needs code from this folder \(auto_map\), which is never run"):
            read()
    assert not mark.exists()


def test_names_and_links_in_archives_lead_nowhere(tmp_path):
    (tmp_path / "secret.conll").write_text("secret 0 0 secret NN * - - - - * (0)\n")
    packed = tmp_path / "inside" / "x.tar"
    packed.parent.mkdir()
    with tarfile.open(packed, "w") as out:
        for number, name in enumerate(("../up.conll", "a.conll")):
            line = b"#begin document (%d); part 000\n%d 0 0 a NN * - - - - * (0)\n#end document\n" % (number, number)
            info = tarfile.TarInfo(name)
            info.size = len(line)
            out.addfile(info, io.BytesIO(line))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo("link.conll")
            info.type, info.linkname = kind, "../secret.conll"
            out.addfile(info)
    before = set(tmp_path.rglob("*"))
    assert {word for document in conll2012_records(packed, "*.conll") for word in document.words} == {"a"}
    assert set(tmp_path.rglob("*")) == before


def test_every_download_of_the_shipped_configuration_is_pinned():
    shipped = read_configuration(ROOT)
    for source in (entry["source"] for entry in resolve(shipped)["corpora"].values()):
        assert "url" not in source or "sha256" in source or "content_sha256" in source, source
        assert "hub" not in source or is_commit(source["revision"]), source
    corpora = shipped["corpora"] | {"unpinned": shipped["corpora"]["wikitext2-segments"] | {"source": {"url": "https://a.b/c"}}}
    with pytest.raises(AtlasError, match="sha256"):
        resolve(shipped | {"corpora": corpora})


@pytest.mark.parametrize("name", ["a;touch pwned", "$(touch pwned)", "../up", "a b", "-rf"])
def test_names_that_stand_in_paths_cannot_be_commands_or_lead_out(name):
    shipped = read_configuration(ROOT)
    with pytest.raises(AtlasError):
        resolve(shipped | {"corpora": shipped["corpora"] | {name: shipped["corpora"]["sample-trees"]}})


def test_a_token_is_never_configured_told_or_logged(tmp_path, monkeypatch, capsys, rule):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert not any(f'"{name}"' in json.dumps(read_schema()) for name in ("token", "hub_token", "hf_token"))

    def refused(*arguments, **options):
        raise PermissionError(f"401 for Authorization: Bearer {TOKEN}")

    for name in ("load_dataset_builder", "load_dataset"):
        monkeypatch.setattr(datasets, name, refused)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)
    source = {"hub": "someone/something", "revision": "0" * 40, "split": "train", "rows": 1, "column": "text"}
    with pytest.raises(AtlasError, match="401") as caught:
        fetch(source, tmp_path / "raw")
    assert TOKEN not in str(caught.value)
    monkeypatch.setenv("HF_TOKEN", "another-form-of-secret")

    def fail(log):
        log.info("header %s and %s", TOKEN, "another-form-of-secret")
        log.info("get https://me:a-password@a.org/b?x=1&access_token=in-the-address&y=2")
        raise ValueError("in a traceback: another-form-of-secret")

    with pytest.raises(SystemExit), job(rule) as log:
        fail(log)
    for log_text in (Path(rule.log[0]).read_text(), capsys.readouterr().err):
        assert "in a traceback" in log_text
        assert TOKEN not in log_text
        assert "another-form-of-secret" not in log_text
        assert not {"a-password", "in-the-address"} & {*re.split(r"[=&:@\s]", log_text)}
    assert "https://(token)@a.org/b?x=1&access_token=(token)&y=2" in Path(rule.log[0]).read_text()
