"""Figure 4: types of the same heads in models that were trained for different tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.distance_features import FEATURES, options_of
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.methods.head_types import nearest_clusters, types_of
from attention_atlas.studies.guan2020.head_features import read_features
from attention_atlas.studies.guan2020.names import FITS, STUDY_MODEL


def compare_models(
    types_path: str | Path,
    features: Mapping[str, str | Path],
    options: Mapping[str, Any],
    method: str,
    seed: int,
    out: str | Path,
) -> None:
    """Type the heads of every compared model: by the types of the study's model, and by clusters of the model itself.

    Args:
        types_path: head_types.tsv of the study's model.
        features: name of a compared model -> its features.
        options: of the features.
        method, seed: of the clusters.
        out: model, fit (reused: nearest mean of the types of the study's model; refitted), layer, head, type.

    Raises:
        AtlasError: a model has another shape, or its clusters cannot be named.
    """
    study_heads = read_table(types_path, ["type", "cluster", *FEATURES])
    reference, study_types = study_heads[list(FEATURES)].to_numpy(float), study_heads["type"].tolist()
    study_clusters = study_heads["cluster"].tolist()
    type_of_cluster = dict(zip(study_clusters, study_types, strict=True))
    frames = []
    for name, path in features.items():
        measured = read_features(path)
        means = measured.means(options_of(options))
        if len(means) != len(study_heads):
            raise AtlasError(
                f"{path}: the model {name} has {len(means)} heads, but the study's model has "
                f"{len(study_heads)}: compare models of one shape."
            )
        if name == STUDY_MODEL:
            by_fit = dict.fromkeys(FITS, tuple(study_types))
        else:
            nearest = nearest_clusters(means, reference, study_clusters)
            refitted = types_of(means, seed, method).names
            by_fit = {"reused": tuple(type_of_cluster[cluster] for cluster in nearest), "refitted": refitted}
        for fit in FITS:
            rows = head_rows(np.asarray(by_fit[fit], dtype=object).reshape(measured.shape), "type")
            frames.append(rows.assign(model=name, fit=fit))
    write_table(pd.concat(frames, ignore_index=True)[["model", "fit", "layer", "head", "type"]], out)
