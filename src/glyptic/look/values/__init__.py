"""A value of any room -> the data of its view, one file a kind of view."""
