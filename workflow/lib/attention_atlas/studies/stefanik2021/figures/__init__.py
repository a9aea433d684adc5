"""Figures of the study, one module each; they draw the tables of the same names."""
