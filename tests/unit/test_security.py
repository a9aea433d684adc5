"""Nothing that is read runs code, nothing writes outside its folder, and no secret is told."""

import ast
import io
import json
import logging
import os
import pickle
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
TOKEN = "hf_" + "aBcD1234" * 4


def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def calls(path: Path) -> list[tuple[str, ast.Call]]:
    """Every call of a module, with the dotted name of what is called."""
    return [(ast.unparse(node.func), node) for node in nodes(path) if isinstance(node, ast.Call)]


def imports(path: Path) -> set[str]:
    names = [alias.name for node in nodes(path) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes(path) if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names}


class Payload:
    """Leaves a mark in the file system when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.fixture
def folder(tmp_path):
    """A tiny model's folder."""
    tiny("bert").save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def entry_for(folder: Path) -> dict:
    source = {"path": str(folder)}
    entry = {"source": source, "layers": LAYERS, "heads": HEADS, "hidden_size": WIDTH}
    return entry | {"init": "pretrained", "seed": 0, "dtype": "float32"}


def test_no_module_reads_pickles_unpacks_archives_or_starts_a_shell():
    assert len(CODE) > 80
    unsafe = {"pd.read_pickle", "eval", "exec", "os.system", "os.popen", "subprocess.getoutput"}
    for path in CODE:
        assert not imports(path) & {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}, path
        for name, call in calls(path):
            place = f"{path}:{call.lineno}"
            assert name not in unsafe, place
            assert name.split(".")[-1] not in ("extractall", "unpack_archive"), place
            # Weights alone: nothing that a file holds is run.
            weights_only = any(k.arg == "weights_only" and getattr(k.value, "value", None) is True for k in call.keywords)
            assert name != "torch.load" or weights_only, place
            assert not {"allow_pickle", "shell"} & {k.arg for k in call.keywords}, place
    assert not [path for path in RULES if "shell:" in path.read_text(encoding="utf-8") or "shell(" in path.read_text()]


def test_weights_that_are_a_pickle_with_code_do_not_run_it(folder, tmp_path):
    mark = tmp_path / "it ran"
    # The payload works where pickles are read as they are.
    pickle.loads(pickle.dumps(Payload(mark)))
    assert mark.exists()
    mark.unlink()
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(mark)))
    with pytest.raises(AtlasError, match="the weights cannot be read"):
        load_model(entry_for(folder))
    assert not mark.exists()


def test_code_that_comes_with_a_model_does_not_run(folder, tmp_path, monkeypatch):
    opened = []
    for path in CODE:
        for name, call in calls(path):
            called = ast.unparse(call.args[0]) if name == "functools.partial" else name
            if called.endswith((".from_pretrained", ".from_config")):
                trusted = [ast.unparse(k.value) for k in call.keywords if k.arg == "trust_remote_code"]
                assert trusted == ["False"], f"{path}:{call.lineno} {name}"
                opened.append(called)
    assert len(opened) >= 6
    # Without the keyword, transformers asks on the terminal.
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    mark = tmp_path / "it ran"
    text = f"from pathlib import Path\nPath({str(mark)!r}).touch()\nfrom transformers import BertConfig as OtherConfig\n"
    (folder / "other.py").write_text(text + "from transformers import BertModel as OtherModel\n")
    settings = json.loads((folder / "config.json").read_text())
    settings["auto_map"] = {"AutoConfig": "other.OtherConfig", "AutoModel": "other.OtherModel"}
    settings["model_type"] = "other"
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(AtlasError, match=r"needs code from this folder \(auto_map\), which is never run"):
        load_model(entry_for(folder))
    with pytest.raises(AtlasError, match="never run"):
        describe("tiny", entry_for(folder), tmp_path / "card.json", tmp_path / "tokenizer.json")
    assert not mark.exists()


def test_names_and_links_in_archives_lead_nowhere(tmp_path):
    secret = tmp_path / "secret.conll"
    secret.write_text("secret 0 0 secret NN * - - - - * (0)\n")
    packed = tmp_path / "inside" / "x.tar"
    packed.parent.mkdir()
    with tarfile.open(packed, "w") as out:
        for number, name in enumerate(("../up.conll", "/tmp/atlas-absolute.conll", "a.conll")):
            info = tarfile.TarInfo(name)
            line = b"#begin document (%d); part 000\n%d 0 0 a NN * - - - - * (0)\n#end document\n" % (number, number)
            info.size = len(line)
            out.addfile(info, io.BytesIO(line))
        for kind, name in ((tarfile.SYMTYPE, "link.conll"), (tarfile.LNKTYPE, "hard.conll")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "../secret.conll"
            out.addfile(info)
    before = {str(p) for p in tmp_path.rglob("*")}
    words = {word for document in conll2012_records(packed, "*.conll") for word in document.words}
    assert words == {"a"}
    assert {str(p) for p in tmp_path.rglob("*")} == before
    assert not Path("/tmp/atlas-absolute.conll").exists()


def test_every_download_of_the_shipped_configuration_is_pinned():
    shipped = read_configuration(ROOT)
    config = resolve(shipped)
    for source in (entry["source"] for entry in config["corpora"].values()):
        assert "url" not in source or "sha256" in source or "content_sha256" in source, source
        assert "hub" not in source or is_commit(source["revision"]), source
    # Models may be named without a commit: the first fetch resolves it, and the model's card names it.
    for model in config["models"].values():
        assert "hub" not in model["source"] or is_commit(model["source"].get("revision", "0" * 40))
    corpora = shipped["corpora"] | {"unpinned": shipped["corpora"]["wikitext2-segments"] | {"source": {"url": "https://a.b/c"}}}
    with pytest.raises(AtlasError, match="sha256"):
        resolve(shipped | {"corpora": corpora})


@pytest.mark.parametrize("name", ["a;touch pwned", "$(touch pwned)", "../up", "a b", "-rf"])
def test_names_that_stand_in_paths_cannot_be_commands_or_lead_out(name):
    shipped = read_configuration(ROOT)
    with pytest.raises(AtlasError):
        resolve(shipped | {"corpora": shipped["corpora"] | {name: shipped["corpora"]["sample-trees"]}})


def fail(log: logging.Logger) -> None:
    log.info("header %s and %s", TOKEN, "another-form-of-secret")
    raise ValueError("in a traceback: another-form-of-secret")


def test_a_token_is_never_configured_told_or_logged(tmp_path, monkeypatch, capsys, rule):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert not any(f'"{name}"' in json.dumps(read_schema()) for name in ("token", "hub_token", "hf_token"))

    def refused(*arguments, **options):
        raise PermissionError(f"401 for Authorization: Bearer {TOKEN}")

    for name in ("load_dataset_builder", "load_dataset"):
        monkeypatch.setattr(datasets, name, refused)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)
    source = {"hub": "someone/something", "revision": "0" * 40, "split": "train", "rows": 1, "column": "text"}
    with pytest.raises(AtlasError) as caught:
        fetch(source, tmp_path / "raw")
    assert "401" in str(caught.value)
    assert TOKEN not in str(caught.value)
    monkeypatch.setitem(os.environ, "HF_TOKEN", "another-form-of-secret")
    with pytest.raises(ValueError, match="secret"), job(rule) as log:
        fail(log)
    for log_text in (Path(rule.log[0]).read_text(), capsys.readouterr().err):
        assert "in a traceback" in log_text
        assert TOKEN not in log_text
        assert "another-form-of-secret" not in log_text
