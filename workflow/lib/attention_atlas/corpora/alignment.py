"""Words to word pieces and back: each word is tokenised separately, so alignment cannot fail."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from attention_atlas.errors import AtlasError

SPECIAL = -1
_PROBES = ("the cat sat", "in one big house")
_NO_SPACE_BEFORE = re.compile(r"[,.:;?!%…)\]}”]+|''|n['’]t|['’](s|re|ve|d|ll|m)?|-R[RSC]B-", re.IGNORECASE)
_NO_SPACE_AFTER = re.compile(r"[(\[{“‘$#]|``?|-L[RSC]B-")
_NO_PREFIX: dict[Any, dict[str, Any]] = {
    "Metaspace": {"prepend_scheme": "never"},
    "Prepend": {"prepend": ""},
    "ByteLevel": {"add_prefix_space": False},
}
"""Part of a tokenizer that may put a space (▁, Ġ) before a text -> the setting with which it does not."""


def without_space_mark(token: str) -> str:
    """A vocabulary entry without the mark of a space before it (Ġ in byte-level, ▁ in SentencePiece vocabularies)."""
    return token.lstrip("Ġ▁") or token


def spaces_by_rule(words: Sequence[str]) -> tuple[bool, ...]:
    """Whether a space stands before each word, for a corpus that does not say it: by rules for tokens of the Penn Treebank.

    A straight quotation mark keeps both spaces, since it may open or close.
    """
    return tuple(
        k > 0 and not (_NO_SPACE_BEFORE.fullmatch(word) or _NO_SPACE_AFTER.fullmatch(words[k - 1]))
        for k, word in enumerate(words)
    )


class Template(NamedTuple):
    """Ids of the special tokens around one or two texts, as in the model's training."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    segments: tuple[int, int, int, int, int]  # for before, first text, between, second text, after

    @property
    def specials(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


class Pieces(NamedTuple):
    """One model input of n tokens, including special tokens."""

    input_ids: tuple[int, ...]
    segment_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    word: tuple[int, ...]  # for each token the position of its word among the example's words, -1 for a special token


def open_tokenizer(path: str | Path | Tokenizer) -> Tokenizer:
    """The tokenizer of a file `tokenizer.json`, or a copy of one; special tokens such as [SEP] or </s> are ordinary characters
    in a text.
    """
    try:
        tokenizer = Tokenizer.from_str(path.to_str()) if isinstance(path, Tokenizer) else Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare exceptions
        raise AtlasError(f"{path}: not a readable tokenizer ({error}).") from error
    tokenizer.encode_special_tokens = True
    return tokenizer


class WordPieces:
    """A fast tokenizer that is applied to single words, spelled with or without the space before them in running text.

    Where running text has two words in one token (the do and n't of don't), each word has its own tokens. No word becomes a
    special token.
    """

    def __init__(self, path: str | Path | Tokenizer) -> None:
        self.tokenizer = open_tokenizer(path)
        self._path = "this tokenizer" if isinstance(path, Tokenizer) else path
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        # For words without a space before them, to which the tokenizer itself may add one (▁cat).
        content = json.loads(self.tokenizer.to_str(), object_hook=lambda part: part | _NO_PREFIX.get(part.get("type"), {}))
        self._glued = Tokenizer.from_str(json.dumps(content))
        self._glued.encode_special_tokens = True
        self._unknown = {content["model"].get("unk_id"), self.tokenizer.token_to_id(content["model"].get("unk_token") or "")}
        self._known: dict[tuple[bool, str], tuple[int, ...]] = {}
        self._lead = self._find_lead()

    def pieces(self, words: Sequence[str], spaces: Sequence[bool] = ()) -> list[tuple[int, ...]]:
        """Ids of the word pieces of each word of a text; an empty tuple for a word that the tokenizer maps to nothing."""
        spaces = spaces or spaces_by_rule(words)
        spelled = [
            (k > 0 and not space, self._lead + word if k and space else word)
            for k, (word, space) in enumerate(zip(words, spaces, strict=True))
        ]
        for glued, tokenizer in ((False, self.tokenizer), (True, self._glued)):
            unknown = sorted({text for is_glued, text in spelled if is_glued == glued and (glued, text) not in self._known})
            for text, encoding in zip(unknown, tokenizer.encode_batch(unknown, add_special_tokens=False), strict=True):
                encodings = [encoding]
                # The vocabulary of a Unigram model contains special tokens; spelled by characters, a word never becomes one.
                if not self._control.isdisjoint(encoding.ids):
                    start = 2 if text.startswith(" ") else 1
                    encodings = [tokenizer.encode(text[:start], add_special_tokens=False)]
                    encodings += self._glued.encode_batch(list(text[start:]), add_special_tokens=False)
                self._known[glued, text] = tuple(piece for part in encodings for piece in part.ids)
        return [self._known[key] for key in spelled]

    def token(self, piece: int) -> str:
        """Vocabulary entry of a token."""
        return self.tokenizer.id_to_token(piece) or f"<{piece}>"

    @cached_property
    def single(self) -> Template:
        return self._template("the")

    @cached_property
    def pair(self) -> Template:
        return self._template("the", "the")

    def _template(self, text: str, pair: str | None = None) -> Template:
        """Template for one text, or for two that are equal."""
        encoding = self.tokenizer.encode(text, pair)
        ids, types = encoding.ids, encoding.type_ids
        inner = [i for i, special in enumerate(encoding.special_tokens_mask) if not special]
        size = len(inner) // (1 if pair is None else 2)
        start, end, restart, stop = inner[0], inner[size - 1] + 1, inner[-size], inner[-1] + 1
        middle = types[end] if end < restart else types[start]
        segments = (types[0], types[start], middle, types[restart], types[-1])
        return Template(tuple(ids[:start]), tuple(ids[end:restart]), tuple(ids[stop:]), segments)

    @cached_property
    def _control(self) -> frozenset[int]:
        """Ids of the special tokens, without that of unknown words."""
        special = {piece for piece, token in self.tokenizer.get_added_tokens_decoder().items() if token.special}
        around = (part for t in (self.single, self.pair) for part in (*t.before, *t.between, *t.after))
        return frozenset(special.union(around) - self._unknown)

    def assemble(self, texts: Sequence[Sequence[tuple[int, ...]]]) -> Pieces:
        """Add special tokens to one or two texts; a text is a sequence of words, a word the ids of its word pieces."""
        template = self.single if len(texts) == 1 else self.pair
        before, first, between, second, after = template.segments
        # Ids of special tokens or of a word, number of the word, segment id.
        parts = [(template.before, SPECIAL, before), *((ids, k, first) for k, ids in enumerate(texts[0]))]
        if len(texts) == 2:
            parts.append((template.between, SPECIAL, between))
            parts += ((ids, k, second) for k, ids in enumerate(texts[1], start=len(texts[0])))
        parts.append((template.after, SPECIAL, after))
        ids, words, segments = zip(*((piece, word, segment) for ids, word, segment in parts for piece in ids), strict=True)
        return Pieces(ids, segments, tuple(map(self.token, ids)), words)

    def _find_lead(self) -> str:
        """Prefix with which a single word is tokenised as after a space in running text."""
        for lead in ("", " "):
            if all(self._matches(probe, lead) for probe in _PROBES):
                return lead
        raise AtlasError(f"{self._path}: running text is split differently from single words. Use another model.")

    def _matches(self, text: str, lead: str) -> bool:
        first, *rest = text.split(" ")
        whole, *parts = self.tokenizer.encode_batch([text, first, *(lead + w for w in rest)], add_special_tokens=False)
        return [piece for part in parts for piece in part.ids] == whole.ids
