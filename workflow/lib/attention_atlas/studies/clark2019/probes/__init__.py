"""Table 3: probing classifiers that read dependency heads off attention (Clark et al. 2019, section 5)."""
