"""Frames on the sample corpus: short sentences with a word that evokes a frame and the element of its core."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

# Frame -> its core element, and the words that evoke it: verbs without object (with their past), or adjectives.
_VERBS = {
    "Make_noise": (
        "Sound_source",
        "laugh/laughed sigh/sighed cough/coughed whistle/whistled groan/groaned sob/sobbed shout/shouted".split(),
    ),
    "Body_movement": (
        "Agent",
        "nod/nodded shrug/shrugged wink/winked wave/waved bow/bowed yawn/yawned shiver/shivered frown/frowned".split(),
    ),
    "Self_motion": ("Self_mover", "run/ran walk/walked jump/jumped crawl/crawled limp/limped wander/wandered".split()),
    "Cognition": ("Cognizer", "understand/understood remember/remembered forget/forgot agree/agreed guess/guessed".split()),
}
_ADJECTIVES = {
    "Emotion_directed": ("Experiencer", "angry nervous happy sad proud ashamed bored jealous worried grateful".split()),
    "Biological_urge": ("Experiencer", "hungry thirsty sleepy tired".split()),
}
_PERSONS = (
    "driver farmer teacher doctor sailor baker painter nurse lawyer singer soldier widow neighbour student guard clerk".split()
)
_LOOKS = "old young tall new quiet famous".split()
_NAMES = "Anna David Emma Peter Sofia Martha Carlos Nadia Oscar Ruth".split()
# {e} is the element, {past}, {base} and {adj} the target; three words stand between the two at the least.
_PATTERNS = (
    "{e} sat down and then {past} .",
    "{e} opened the window and {past} .",
    "{e} tried , but could not {base} .",
    "{e} , to be fair , {past} .",
    "All at once {e} began to slowly {base} .",
    "For a moment {e} did not even {base} .",
    "{e} was slowly becoming {adj} .",
    "{e} will soon be very {adj} .",
    "{e} came home late and {adj} .",
    "After the long day {e} had become quite {adj} .",
    "{e} had never before been so {adj} .",
    "{e} turned round , smiled and {past} .",
)
_COUNT = 160


def frames_json(seed: int) -> str:
    """Sentences, each with its target, the frame, and the phrases that fill elements of the frame's core.

    They are as Kovaleva et al. chose theirs: at most 12 words, elements of at most 3, none within 2 words of the target.
    """
    return json.dumps(list(_frames(random.Random(f"frames-{seed}"))), ensure_ascii=False, indent=0) + "\n"


def _frames(rng: random.Random) -> Iterator[dict[str, object]]:
    seen: set[str] = set()
    while len(seen) < _COUNT:
        pattern = rng.choice(_PATTERNS)
        kinds = _ADJECTIVES if "{adj}" in pattern else _VERBS
        frame = rng.choice(sorted(kinds))
        role, words = kinds[frame]
        target = rng.choice(words).split("/")[-1 if "{past}" in pattern else 0]
        element = _element(rng)
        start = pattern.split("{e}")[0]
        named = element if start else element[0].upper() + element[1:]
        sentence = pattern.format(e=named, past=target, base=target, adj=target)
        if sentence not in seen:
            seen.add(sentence)
            yield {"sentence": sentence, "target": target, "frame": frame, "links": [named], "elements": [role]}


def _element(rng: random.Random) -> str:
    kind = rng.randrange(3)
    if kind == 0:
        return rng.choice(("he", "she", "they"))
    if kind == 1:
        return rng.choice(_NAMES)
    look = rng.choice(["", *_LOOKS])
    return f"the {look} {rng.choice(_PERSONS)}".replace("  ", " ")
