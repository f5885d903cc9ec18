"""Text to tokens: what two spellings of one question have in common."""
