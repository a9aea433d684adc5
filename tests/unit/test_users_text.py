"""A text of the user's, as an entry of the registry and as examples."""

from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from tools.atlas import users_text


def test_lines_become_examples_and_long_ones_are_dropped_with_their_line(tmp_path):
    path = tmp_path / "my.txt"
    path.write_text("\ufeffThe cat.\n\n" + "the " * 30 + "\n# The = cat\n", encoding="utf-8")
    text = users_text(path)
    assert (text.has_trees, text.entry()["reader"], text.entry()["source"]) == (False, "sentences", {"path": str(path)})
    save_tokenizer(tmp_path / "tokenizer.json", ["the", "cat", "#", "=", "."])
    entry = {"max_tokens": 512, "level": "tokens", "seed": 0, "skip": 0} | text.entry()
    build_shard(entry, path, tmp_path / "tokenizer.json", 24, 0, tmp_path / "e.parquet", tmp_path / "d.tsv")
    first, second = read_examples([tmp_path / "e.parquet"])
    assert (first.record, first.id, first.words, first.word) == (0, "line 1", ("The", "cat."), (-1, 0, 1, 1, -1))
    assert (second.record, second.id, second.words) == (2, "line 4", ("#", "The", "=", "cat"))
    assert "1\tline 3\ttoo long\t32 tokens, 24 allowed" in (tmp_path / "d.tsv").read_text(encoding="utf-8")
