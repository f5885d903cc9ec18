"""Running a recipe: blocks, ranks, resume."""
