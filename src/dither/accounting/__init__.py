"""What was done, as a cost: never less than the truth, and provably close to it."""
