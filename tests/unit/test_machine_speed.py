"""How fast this machine is, beside the one whose seconds the cost model states."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import passes


def test_a_machine_that_takes_two_to_eight_times_as_long_takes_four_times(monkeypatch, capsys):
    recorded = pd.read_csv(passes.MEASURED, sep="\t").set_index(["rule", "layers", "heads", "hidden", "tokens"])["seconds"]
    factors = dict(zip(passes.COMPARED, (2.0, 8.0, 4.0, 4.0), strict=True))

    def measured(case):
        shape = (case.shape.layers, case.shape.heads, case.shape.hidden)
        return factors[case.rule] * recorded[(case.rule, *shape, case.tokens)]

    monkeypatch.setattr(passes, "measure", measured)
    assert passes.slowness() == pytest.approx(4.0)
    assert "fine_tune: 2.00 times" in capsys.readouterr().out
