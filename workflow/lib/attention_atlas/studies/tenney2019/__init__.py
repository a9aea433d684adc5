"""Tenney et al. (2019), BERT Rediscovers the Classical NLP Pipeline: what each layer knows of eight tasks."""
