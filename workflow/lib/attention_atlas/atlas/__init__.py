"""The atlas: one row a head over all studies, correlations between measures, and findings across papers."""
