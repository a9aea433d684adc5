"""Two independent ways to Stanford Dependencies: the trees of the generator, and the conversion of its UD trees."""

from collections import Counter

from sample_corpus.write import write_sample

from attention_atlas.corpora.conllu import read_conllu
from attention_atlas.corpora.stanford import to_stanford


def test_converted_ud_trees_are_the_generators_sd_trees(tmp_path):
    write_sample(tmp_path, documents=60, seed=7)
    agree, total, odd = 0, 0, Counter()
    for ud, sd in zip(read_conllu(tmp_path / "ud.conllu"), read_conllu(tmp_path / "sd.conllu"), strict=True):
        converted = to_stanford(ud)
        assert converted.words == sd.words
        rows = zip(converted.heads, converted.relations, sd.heads, sd.relations, strict=True)
        for head, relation, gold_head, gold_relation in rows:
            # Where commas hang is a convention of each scheme's parser, and no row of any table.
            if gold_relation == "punct":
                continue
            total += 1
            agree += (head, relation) == (gold_head, gold_relation)
            odd[gold_relation, relation] += (head, relation) != (gold_head, gold_relation)
    assert agree / total > 0.99, odd.most_common(10)
