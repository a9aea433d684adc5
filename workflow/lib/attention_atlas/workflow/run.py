"""The job of a function of a study: read what its parameters are annotated as, call it, write what it returns.

A parameter is a frame (`pd.DataFrame`), a dataclass or mapping of arrays, a mapping or sequence of these, or has its reader:
`Annotated[type, reader]`; the reader of an iterator or a sequence takes a list of files. Anything else is passed as it is.
"""

from __future__ import annotations

import inspect
import json
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.errors import DamagedFile
from attention_atlas.io.files import whole_file, write_text
from attention_atlas.io.tables import RunLabel, read_parquet, read_table, write_parquet, write_table
from attention_atlas.workflow.shown import OF_RUN, Marked, call_function

_OF_PAGE = ("heading", "caption", "links", "run_title")
_NOT_PASSED = (*_OF_PAGE, "call", "code", "limit", "labels")


def run(snakemake: Any) -> None:
    """Call the function of a rule.

    Its parameters are the rule's named inputs, but for those without a file, and its `params`. Unnamed inputs are files that a
    reader opens by itself. The parameter `limit`, or its entry for a parameter, goes to the readers that have one. A function
    that measures returns the value of its only output, or output -> value; all outputs have names.
    """
    params = dict(snakemake.params.items())
    function = call_function(params["call"])
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(snakemake.threads)
    result, labels = called(function, snakemake.input, params)
    outputs = dict(snakemake.output.items())
    if isinstance(result, str):
        write_text(outputs["html"], result)
    elif isinstance(function, Marked):
        result.write(outputs, labels, **{name: params[name] for name in _OF_PAGE if name in params})
    else:
        results = result if isinstance(result, Mapping) else dict.fromkeys(list(outputs)[:1], result)
        if not outputs or results.keys() != outputs.keys():
            raise TypeError(f"the rule writes {', '.join(outputs)}, the function returns {', '.join(results)}")
        for name, path in outputs.items():
            _write(results[name], path)


def called(
    function: Any, files: Mapping[str, Any], params: Mapping[str, Any], changes: Mapping[str, Any] = types.MappingProxyType({})
) -> tuple[Any, dict[str, RunLabel]]:
    """What a function returns for the inputs and parameters of a job, or for others in their place; and its labels."""
    labels = {name: RunLabel(**label) for name, label in params.get("labels", {}).items()}
    passed = {name: value for name, value in params.items() if name not in _NOT_PASSED}
    tables = {name: value for name, value in files.items() if value}
    plain = function.function if isinstance(function, Marked) else function
    values = (function.tables(tables) if isinstance(function, Marked) else tables) | passed
    values = {name: value for name, value in values.items() if name not in changes}
    return plain(**arguments(plain, values, params.get("limit"), {**params, "labels": labels}), **changes), labels


def arguments(
    function: Any,
    values: Mapping[str, Any],
    limit: int | Mapping[str, int] | None = None,
    of_run: Mapping[str, Any] = types.MappingProxyType({}),
) -> dict[str, Any]:
    """Parameter -> argument, read by its annotation."""
    parameters = inspect.signature(function).parameters
    if unknown := values.keys() - parameters.keys():
        raise TypeError(f"{function.__module__}:{function.__name__} has no parameter {', '.join(sorted(unknown))}")
    hints = typing.get_type_hints(function, include_extras=True)
    limits = limit if isinstance(limit, Mapping) else dict.fromkeys(values, limit)
    read = {name: _read(hints[name], value, limits.get(name)) for name, value in values.items()}
    return read | {name: of_run[name] for name in OF_RUN if name in parameters}


def _read(hint: Any, value: Any, limit: int | None) -> Any:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        # The other one is None: of a parameter that a run may lack.
        hint = next(kind for kind in typing.get_args(hint) if kind is not type(None))
    if typing.get_origin(hint) is typing.Annotated:
        (reader,) = hint.__metadata__
        if isinstance(value, str) and typing.get_origin(hint.__origin__) in (Iterator, Sequence):
            value = [value]
        return reader(value, limit) if "limit" in inspect.signature(reader).parameters else reader(value)
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if kind is Mapping and isinstance(value, str):
        return _read_arrays(dict, value)
    if kind is Mapping:
        return {name: _read(parts[1], part, limit) for name, part in value.items()}
    if kind is Sequence and not isinstance(value, str):
        return [_read(parts[0], part, limit) for part in value]
    if hint is pd.DataFrame:
        path = value if isinstance(value, str) else value[0]
        return read_parquet(path) if path.endswith(".parquet") else read_table(path)
    return _read_arrays(hint, value) if is_dataclass(hint) else value


def _read_arrays(kind: Any, path: str) -> Any:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            facts = json.loads((file.metadata() or {}).get("facts", "{}"))
            return kind(**{name: file.get_tensor(name) for name in file.keys()}, **facts)  # noqa: SIM118
    except (OSError, TypeError, ValueError, SafetensorError) as error:
        raise DamagedFile(path, f"it does not hold the arrays of {kind.__name__} ({error})") from error


def _write(value: Any, path: str) -> None:
    if hasattr(value, "write"):
        value.write(path)
    elif not isinstance(value, pd.DataFrame):
        from safetensors.numpy import save_file

        parts = value if isinstance(value, Mapping) else {field.name: getattr(value, field.name) for field in fields(value)}
        arrays = {name: np.asarray(part, order="C") for name, part in parts.items() if isinstance(part, np.ndarray)}
        facts = {name: part for name, part in parts.items() if name not in arrays}
        # One entry, since the library writes several in random order.
        metadata = {"facts": json.dumps(facts, ensure_ascii=False)} if facts else None
        with whole_file(path) as part:
            save_file(arrays, part, metadata)
    elif path.endswith(".parquet"):
        write_parquet(value, path)
    else:
        write_table(value, path)
