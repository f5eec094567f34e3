"""Tasks, one file a family; `registry.open` gives one by its name."""
