"""Pure decisions: from lane results to one ranked list, its explanation, coverage and status."""
