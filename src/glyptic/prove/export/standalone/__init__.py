"""Programs that are copied into an exported folder: each runs alone, and imports nothing of Glyptic."""
