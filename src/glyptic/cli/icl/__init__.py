"""The commands of in-context learning, one file each."""
