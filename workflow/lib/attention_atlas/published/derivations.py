"""Published values that follow from other published ones: recomputed by a named formula, within the rounding of all of them.

A row of workflow/resources/published/{study}.csv may name a formula of `FORMULAS` and its inputs, separated by semicolons:

- the id of another value of the study (all its numbers, in their order), or a pattern with `*` for several ids;
- `id@detail`: a detail of the values instead of their numbers, 1 for `true` and 0 for `false`;
- `table.column(name=value, ...)`: numbers that were read off a figure, of published/digitised/{table}.csv;
- a number that is fixed by definition, such as the two [SEP] of a segment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache

import numpy as np

from attention_atlas.errors import AtlasError
from attention_atlas.published.values import Number, Published, digitised_column, half_unit

Formula = Callable[[Sequence[np.ndarray]], float]
"""From the inputs, one array of numbers for each, to the value."""

_DIGITISED = re.compile(r"(\w+)\.(\w+)\((.*)\)")
_SHOWN_INPUTS = 5
_FLOAT_ERROR = 1e-9
"""Relative to the value: what the arithmetic of floating point may add."""


@dataclass(frozen=True)
class Recomputed:
    """A published number and the value that follows from other published numbers.

    Attributes:
        value: by the formula, in the published unit.
        bound: how far the rounding of the inputs can move it.
        agrees: whether the printed number lies within its own rounding and that bound.
        words: formula, inputs and result in one sentence.
    """

    value: float
    bound: float
    agrees: bool
    words: str


def recompute(published: Mapping[str, Published], names: Collection[str] | None = None) -> dict[str, list[Recomputed]]:
    """Id -> its recomputed numbers, for every value that names a formula for at least one of its numbers.

    The bound is of first order: each input alone is moved to both ends of its rounding, and the largest changes are added. It
    is exact for sums and differences, and for all other formulas as good as the inputs' rounding is small.

    Args:
        published: all values of a study.
        names: ids of the values to recompute; all of them by default.

    Raises:
        AtlasError: no such formula, no such input, or inputs that the formula does not take.
    """
    results: dict[str, list[Recomputed]] = {}
    for value in published.values() if names is None else (published[name] for name in names):
        numbers = [_recomputed(value, number, published) for number in value.numbers if number.formula]
        if numbers:
            results[value.id] = numbers
    return results


def _recomputed(value: Published, number: Number, published: Mapping[str, Published]) -> Recomputed:
    place = f"published values: {value.id}"
    if number.formula not in FORMULAS:
        raise AtlasError(f"{place}: there is no formula '{number.formula}'; there are {', '.join(sorted(FORMULAS))}.")
    if not isinstance(number.value, int | float):
        raise AtlasError(f"{place}: '{number.value}' is not a number that {number.formula} could give.")
    formula = FORMULAS[number.formula]
    tokens = number.inputs.split("; ")
    inputs, errors = zip(*(_input(token, value, published) for token in tokens), strict=True)
    try:
        result = float(formula(inputs))
        bound = _bound(formula, inputs, errors, result)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        raise AtlasError(f"{place}: {number.formula} cannot be computed from {number.inputs}: {error}.") from error
    allowed = half_unit(number, value.tolerance) + bound + _FLOAT_ERROR * max(abs(result), 1.0)
    agrees = abs(result - number.value) <= allowed
    name = "same as" if number.formula == "same" else f"{number.formula.replace('_', ' ')} of"
    # A hundred ids do not fit into a table cell; the list of published values has them all.
    shown = number.inputs if len(tokens) <= _SHOWN_INPUTS else f"{tokens[0]} and {len(tokens) - 1} others"
    words = f"{name} {shown}: {result:.6g} ± {bound:.1g}, printed {number.value}"
    return Recomputed(result, bound, agrees, words)


def _bound(formula: Formula, inputs: Sequence[np.ndarray], errors: Sequence[np.ndarray], result: float) -> float:
    """Sum over all input numbers of the largest change when that number alone moves to an end of its rounding."""
    total = 0.0
    for place, input_errors in enumerate(errors):
        for index in np.flatnonzero(input_errors):
            changes = []
            for sign in (-1, 1):
                moved = inputs[place].copy()
                moved[index] += sign * input_errors[index]
                changes.append(abs(float(formula([*inputs[:place], moved, *inputs[place + 1 :]])) - result))
            total += max(changes)
    return total


def _input(token: str, value: Published, published: Mapping[str, Published]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of an input, and half a unit of the last printed digit of each (0 for what is exact)."""
    if match := _DIGITISED.fullmatch(token):
        conditions = tuple(tuple(part.split("=", 1)) for part in match[3].split(", ") if part)
        return _digitised(match[1], match[2], conditions)
    try:
        return np.array([float(token)]), np.zeros(1)
    except ValueError:
        pass
    pattern, _, detail = token.partition("@")
    sources = [source for source in _matching(pattern, published) if source.id != value.id]
    if not sources:
        raise AtlasError(f"published values: {value.id}: there is no other value '{pattern}' that it could follow from.")
    if detail:
        absent = [source.id for source in sources if source.details.get(detail) not in ("true", "false")]
        if absent:
            raise AtlasError(f"published values: {value.id}: {absent[0]} has no detail {detail} that is true or false.")
        numbers = np.array([float(source.details[detail] == "true") for source in sources])
        return numbers, np.zeros(len(numbers))
    pairs = [(source, number) for source in sources for number in source.numbers]
    lost = [source.id for source, number in pairs if not isinstance(number.value, int | float)]
    if lost:
        raise AtlasError(f"published values: {value.id}: {lost[0]} is not a number.")
    numbers = np.array([number.value for _, number in pairs], dtype=np.float64)
    return numbers, np.array([half_unit(number, source.tolerance) for source, number in pairs])


def _matching(pattern: str, published: Mapping[str, Published]) -> Iterator[Published]:
    if "*" not in pattern:
        if pattern in published:
            yield published[pattern]
        return
    yield from (value for value in published.values() if fnmatchcase(value.id, pattern))


@cache
def _digitised(table: str, column: str, conditions: tuple[tuple[str, str], ...]) -> tuple[np.ndarray, np.ndarray]:
    texts = digitised_column(table, column, conditions)
    exponents = [min(int(Decimal(text).as_tuple().exponent), 0) for text in texts]
    numbers = np.array([float(text) for text in texts])
    # All numbers of such a table have the same resolution; trailing zeros are lost in some.
    return numbers, np.full(len(numbers), 0.5 * 10.0 ** min(exponents))


def _all(inputs: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(inputs)


def _one(inputs: Sequence[np.ndarray], count: int) -> list[float]:
    """The inputs as single numbers.

    Raises:
        ValueError: another number of inputs, or several numbers in one.
    """
    if len(inputs) != count or any(len(numbers) != 1 for numbers in inputs):
        raise ValueError(f"it takes {count} numbers")
    return [float(numbers[0]) for numbers in inputs]


def _pairs(inputs: Sequence[np.ndarray]) -> np.ndarray:
    """The first half of the numbers minus the second half."""
    numbers = _all(inputs)
    if len(numbers) % 2:
        raise ValueError("it takes pairs of numbers: first all minuends, then all subtrahends")
    half = len(numbers) // 2
    return numbers[:half] - numbers[half:]


def _difference(inputs: Sequence[np.ndarray]) -> float:
    minuend, subtrahend = _one(inputs, 2)
    return minuend - subtrahend


def _ratio(inputs: Sequence[np.ndarray]) -> float:
    numerator, denominator = _one(inputs, 2)
    return numerator / denominator


def _expected_layer(inputs: Sequence[np.ndarray]) -> float:
    """Equation 4 of Tenney et al. (2019): the mean layer, weighted by the gain of the cumulative score at each layer."""
    gains = np.diff(_all(inputs))
    return float((np.arange(1, len(gains) + 1) * gains).sum() / gains.sum())


def _centre_of_gravity(inputs: Sequence[np.ndarray]) -> float:
    """Equation 2 of Tenney et al. (2019): the mean layer (from 0), weighted by the mixing weights."""
    weights = _all(inputs)
    return float((np.arange(len(weights)) * weights).sum() / weights.sum())


def _bits_from_uniform(weights: np.ndarray) -> float:
    """Kullback-Leibler divergence in bits of the normalised weights from the uniform distribution over as many places."""
    shares = weights / weights.sum()
    positive = shares[shares > 0]
    return float((positive * np.log2(positive * len(shares))).sum())


def _gains_from_uniform(inputs: Sequence[np.ndarray]) -> float:
    """K(Delta) of Tenney et al. (2019), section 3: of the gains above 0 of the layers 1 to L."""
    return _bits_from_uniform(np.maximum(np.diff(_all(inputs)), 0))


def _f1_of_constant(inputs: Sequence[np.ndarray]) -> float:
    """F1 in percent of the constant positive answer, from its accuracy in percent (the share of positive examples)."""
    (accuracy,) = _one(inputs, 1)
    return 200 * (accuracy / 100) / (1 + accuracy / 100)


FORMULAS: Mapping[str, Formula] = {
    "same": lambda inputs: _one(inputs, 1)[0],
    "first": lambda inputs: float(_all(inputs)[0]),
    "last": lambda inputs: float(_all(inputs)[-1]),
    "mean": lambda inputs: float(_all(inputs).mean()),
    "sum": lambda inputs: float(_all(inputs).sum()),
    "max": lambda inputs: float(_all(inputs).max()),
    "min": lambda inputs: float(_all(inputs).min()),
    "ratio": _ratio,
    "percentage": lambda inputs: 100 * _ratio(inputs),
    "percentage_gain": lambda inputs: 100 * (_ratio(inputs) - 1),
    "rest_of_100": lambda inputs: float(100 - _all(inputs).sum()),
    "percentage_of_false": lambda inputs: float(100 * (1 - _all(inputs).mean())),
    "share_above_0": lambda inputs: float((_all(inputs) > 0).mean()),
    "mean_in_percentage_points": lambda inputs: float(100 * _all(inputs).mean()),
    "mean_difference": lambda inputs: float(_pairs(inputs).mean()),
    "difference_in_percentage_points": lambda inputs: 100 * _difference(inputs),
    "max_difference_in_percentage_points": lambda inputs: float(100 * _pairs(inputs).max()),
    "min_difference_in_percentage_points": lambda inputs: float(100 * _pairs(inputs).min()),
    "expected_layer": _expected_layer,
    "centre_of_gravity": _centre_of_gravity,
    "bits_from_uniform": lambda inputs: _bits_from_uniform(_all(inputs)),
    "gains_bits_from_uniform": _gains_from_uniform,
    "f1_of_constant": _f1_of_constant,
}
"""Name -> formula. Those with `in_percentage_points` take shares from 0 to 1 and give percentage points."""
