"""Methods that several studies share: surface measures, dependency scoring, distances, masking, importance, pruning."""
