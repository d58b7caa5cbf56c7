"""Small numerical parts that the solvers are made of."""
