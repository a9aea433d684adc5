"""FrameNet 1.7 in NLTK's layout: indices, relations, one file for each frame and one for each lexical unit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sample_corpus.frames import frames_json

from attention_atlas.io.files import write_text

_NAMESPACE = "http://framenet.icsi.berkeley.edu"
_FACTS = {"cBy": "AA", "cDate": "01/01/2002 12:00:00 PST Tue"}
_UNIT = {"status": "FN1_Sent", "POS": "V"}


def framenet_sentences(seed: int, count: int) -> str:
    """The list of Kovaleva et al.: a sentence, its target, and the phrases that fill the frame's core elements."""
    rows = [{name: row[name] for name in ("sentence", "target", "links")} for row in _rows(seed, count)]
    return json.dumps(rows, indent=1)


def write_framenet(folder: Path, seed: int, count: int) -> None:
    """Write sentences of the generated corpus as annotations of FrameNet's lexical units."""
    rows = _rows(seed, count)
    frames = {name: str(number) for number, name in enumerate(sorted({row["frame"] for row in rows}), start=1)}
    units = {unit: str(number) for number, unit in enumerate(sorted({(row["frame"], row["target"]) for row in rows}), start=1)}
    _write(folder / "frameIndex.xml", _element("frameIndex", {}, *(
        _element("frame", {"name": name, "ID": number, "cDate": _FACTS["cDate"]}) for name, number in frames.items()
    )))  # fmt: skip
    _write(folder / "luIndex.xml", _element("luIndex", {}, *(
        _element("lu", {"name": f"{target}.v", "ID": number, "frameName": frame, "frameID": frames[frame],
                        "status": _UNIT["status"], "hasAnnotation": "true"})
        for (frame, target), number in units.items()
    )))  # fmt: skip
    inherits = {"ID": "1", "name": "Inheritance", "superFrameName": "Parent", "subFrameName": "Child"}
    _write(folder / "frRelation.xml", _element("frameRelations", {}, _element("frameRelationType", inherits)))
    _write(folder / "semTypes.xml", _element("semTypes", {}))
    for frame in frames:
        of_frame = {target: number for (name, target), number in units.items() if name == frame}
        _write(folder / "frame" / f"{frame}.xml", _frame(frame, frames[frame], of_frame, rows))
    for (frame, target), number in units.items():
        sentences = [row for row in rows if (row["frame"], row["target"]) == (frame, target)]
        _write(folder / "lu" / f"lu{number}.xml", _lexical_unit(frame, frames[frame], target, number, sentences))


def _rows(seed: int, count: int) -> list[dict[str, Any]]:
    return json.loads(frames_json(seed))[:count]


def _frame(name: str, number: str, units: dict[str, str], rows: Sequence[dict[str, Any]]) -> ET.Element:
    core = sorted({element for row in rows if row["frame"] == name for element in row["elements"]})
    ids = {element: f"{number}{place:02d}" for place, element in enumerate(core)}
    parts = [_element("definition", {}, text="A frame.")]
    for element in core:
        about = {"name": element, "abbrev": element[:3], "coreType": "Core", "ID": ids[element], **_FACTS}
        parts.append(_element("FE", about, _element("definition", {}, text="An element.")))
    members = (_element("memberFE", {"name": element, "ID": ids[element]}) for element in core)
    parts.append(_element("FEcoreSet", {}, *members))
    for target, unit in units.items():
        about = {**_UNIT, "name": f"{target}.v", "ID": unit, "lemmaID": unit, **_FACTS}
        inside = (_element("definition", {}, text="A verb."), _element("sentenceCount", {"annotated": "1", "total": "1"}))
        parts.append(_element("lexUnit", about, *inside, _lexeme(target)))
    return _element("frame", {"name": name, "ID": number, **_FACTS}, *parts)


def _lexical_unit(frame: str, frame_id: str, target: str, unit: str, rows: Sequence[dict[str, Any]]) -> ET.Element:
    sentences = []
    for number, row in enumerate(rows, start=1):
        text, identifier = row["sentence"], f"{unit}{number:04d}"
        elements = zip(row["elements"], row["links"], strict=True)
        layers = (
            _element("layer", {"rank": "1", "name": "Target"}, _label("Target", text, row["target"])),
            _element("layer", {"rank": "1", "name": "FE"}, *(_label(name, text, phrase) for name, phrase in elements)),
        )
        annotation = _element("annotationSet", {"status": "MANUAL", "ID": identifier, "cDate": _FACTS["cDate"]}, *layers)
        about = {"sentNo": "0", "aPos": str(number), "ID": identifier}
        sentences.append(_element("sentence", about, _element("text", {}, text=text), annotation))
    about = {**_UNIT, "name": f"{target}.v", "ID": unit, "frame": frame, "frameID": frame_id, "totalAnnotated": str(len(rows))}
    header = _element("header", {}, _element("corpus", {"description": "Generated", "name": "generated", "ID": "1"}))
    parts = (header, _element("definition", {}, text="A verb."), _lexeme(target), _element("valences", {}))
    return _element("lexUnit", about, *parts, _element("subCorpus", {"name": "V-all"}, *sentences))


def _lexeme(target: str) -> ET.Element:
    return _element("lexeme", {"POS": "V", "name": target, "order": "1", "headword": "false", "breakBefore": "false"})


def _label(name: str, text: str, phrase: str) -> ET.Element:
    """A label with the first and the last character of its phrase."""
    start = text.index(phrase)
    return _element("label", {"name": name, "start": str(start), "end": str(start + len(phrase) - 1), "cBy": "AA"})


def _element(tag: str, attributes: dict[str, str], *children: ET.Element, text: str = "") -> ET.Element:
    element = ET.Element(tag, attributes)
    element.text = text or None
    element.extend(children)
    return element


def _write(path: Path, root: ET.Element) -> None:
    root.set("xmlns", _NAMESPACE)
    ET.indent(root)
    write_text(path, '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n")
