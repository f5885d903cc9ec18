"""Seeds: files, Hub datasets and generators in, queries with a reliable way of checking out."""
