"""Pure decisions: from a classified query, corpus cards and backend states to a plan or a rejection."""
