"""Inspec in Hulth's distribution: an archive of abstracts, each with two files of keyphrases."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from sample_corpus.generate import Document
from sample_corpus.keyphrases import SENTENCES, keyphrases_of

from attention_atlas.io.files import whole_file

PARTS = {"Training": [*range(100, 116), *range(415, 423)], "Validation": list(range(1500, 1508)), "Test": list(range(200, 208))}
"""Folder of the archive -> numbers of its abstracts in the official split that the registry names."""


def write_inspec(documents: Sequence[Document], path: Path) -> None:
    """Write Hulth2003.tar.gz, with Windows line ends, continuation lines after a tab, and attribute files from macOS."""
    numbers = [(part, number) for part, listed in PARTS.items() for number in listed]
    with whole_file(path) as temporary, tarfile.open(temporary, "w:gz") as archive:
        for (part, number), document in zip(numbers, documents, strict=False):
            sentences = [sentence.text for sentence in document.sentences[:SENTENCES]]
            phrases = keyphrases_of(document)
            base = f"Hulth2003/{part}/{number}"
            _add(archive, f"{base}.abstr", sentences[0] + "\r\n\t" + "\r\n".join(sentences[1:]) + "\r\n")
            _add(archive, f"{base}.uncontr", ";\r\n\t".join(phrases) + "\r\n")
            _add(archive, f"{base}.contr", "; ".join(phrases[:1]) + "\r\n")
            _add(archive, f"Hulth2003/{part}/._{number}.abstr", "\0\5\26\7")


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode()
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
