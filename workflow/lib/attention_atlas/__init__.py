"""Attention Atlas: what the attention heads of BERT-like models do, study by study."""
