"""Attention Atlas: what the attention heads of BERT-like models do, by study."""

__version__ = "0.3.0"
