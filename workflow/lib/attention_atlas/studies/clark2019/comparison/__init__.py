"""Every published number of Clark et al. (2019) beside what a run measured, a module a part of the paper."""
