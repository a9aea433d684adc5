"""Files: atomic writing, shards of tensors, tables, pages; progress and messages."""
