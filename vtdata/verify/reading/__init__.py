"""What an answer is: a number, a tuple, an interval, an equation, words; read from its text."""
