"""Expected loss and its gradient, and the learner that lowers it."""
