"""Pure decisions: from outcomes in a rolling window to a backend's next state."""
