"""What keeps a warehouse small without changing an answer: retention, compaction, vacuum, and forgetting by key."""
