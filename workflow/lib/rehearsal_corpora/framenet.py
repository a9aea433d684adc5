"""The sentences with frames of Kovaleva et al.: a sentence, its target, and the phrases that fill the frame's core elements."""

import json

from sample_corpus.frames import frames_json


def framenet_sentences(seed: int, count: int) -> str:
    """Sentences of the generated corpus, as a JSON list in the layout of the authors' notebook."""
    rows = json.loads(frames_json(seed))[:count]
    return json.dumps([{name: row[name] for name in ("sentence", "target", "links")} for row in rows], indent=1)
