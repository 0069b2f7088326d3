"""Pure decisions: what a lane's command asks of a backend, and what its result may claim."""
