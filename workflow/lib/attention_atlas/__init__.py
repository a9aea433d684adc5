"""Attention Atlas: what the attention heads of BERT-like models do, by study."""
