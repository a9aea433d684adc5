"""Tenney et al. (2019), BERT Rediscovers the Classical NLP Pipeline: probing each layer for eight tasks."""
