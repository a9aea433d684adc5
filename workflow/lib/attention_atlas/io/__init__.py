"""Files: written whole or not at all, shards of tensors, tables, pages; progress and messages."""
