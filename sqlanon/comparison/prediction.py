"""What a release is still good for: a classifier's accuracy on the original against the release.

Needs scikit-learn: pip install 'sqlanon[task]'.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlanon.engine.frames import registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import run
from sqlanon.errors import DataError, PolicyError, SqlanonError
from sqlanon.pipeline.source import Source
from sqlanon.releases.release import Release
from sqlanon.sqltext import name
from sqlanon.udfs.evaluate.one_nn import one_nn_error

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 20_000
"""Larger tables are sampled: the question is which share of rows is predicted right."""
FOLDS = 5
TREES = 60


@dataclass(frozen=True)
class Task:
    """How well the target is predicted: the share of rows right, in cross-validation; 1-NN error on numeric columns."""

    target: str
    rows: int
    majority: float
    original: float
    release: float
    nearest_original: float | None
    nearest_release: float | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def predict(release: Release, target: str, seed: int = 0) -> Task:
    """Train on the original and on the release to predict the target, a sensitive or kept column, from the rest."""
    with registered(release.con) as named:
        return _predicted(release, resolve(release.con, named(release.origin)), target, seed)


def _predicted(release: Release, source: Source, target: str, seed: int) -> Task:
    (column,) = source.resolve_names([target])
    quasi = source.resolve_names(release.policy.quasi)
    if column in quasi:
        raise PolicyError(f"'{target}' is a quasi-identifier: predict a sensitive or kept column")
    if release.policy.kind.prints_exact:
        raise PolicyError(
            f"{release.policy.method} releases no row with its sensitive value, so there is nothing to learn from"
        )
    released = [*release.policy.sensitive, *release.policy.keep, *release.policy.unsafe_keep]
    if column not in source.resolve_names(released):
        shown = ", ".join(released) or "it has none"
        raise PolicyError(f"'{target}' is not in the release: predict one that is ({shown})")
    before = _frame(release, source.relation, [*quasi, column], seed)
    after = _frame(release, release.table, [*release.printed, column], seed)
    if before[column].nunique() < 2:
        raise DataError(f"'{target}' has only one value, so there is nothing to predict")
    return Task(
        target=column,
        rows=len(before),
        majority=float(before[column].value_counts(normalize=True).iloc[0]),
        original=_accuracy(before, column, seed),
        release=_accuracy(after, column, seed),
        nearest_original=_nearest(before, column),
        nearest_release=_nearest(after, column),
    )


def _frame(release: Release, relation: str, columns: list[str], seed: int) -> pd.DataFrame:
    listed = ", ".join(map(name, columns))
    ((rows,),) = run(release.con, f"select count(*) from {relation}")
    known = f"from {relation} where {name(columns[-1])} is not null"
    frame: pd.DataFrame = release.con.execute(f"select {listed} {known}").df()
    if rows > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=seed)
    frame[columns[-1]] = frame[columns[-1]].astype(str)
    return frame.reset_index(drop=True)


def _features(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, list[str]]:
    """Ranges as their middle, other text as categories; and which columns are numbers."""
    import pandas as pd

    features = frame.drop(columns=[target]).copy()
    numbers = []
    for column in features.columns:
        values = features[column]
        if not pd.api.types.is_numeric_dtype(values):
            ends = values.astype(str).str.extract(r"^\[?(-?[0-9.]+)(?:-(-?[0-9.]+)\])?$")
            if ends[0].notna().mean() < 0.5:
                features[column] = values.astype(str)
                continue
            low = pd.to_numeric(ends[0])
            values = (low + pd.to_numeric(ends[1]).fillna(low)) / 2
        features[column] = values.astype(float)
        features[column] = features[column].fillna(features[column].median())
        numbers.append(column)
    return features, numbers


def _accuracy(frame: pd.DataFrame, target: str, seed: int) -> float:
    try:
        from sklearn.compose import make_column_transformer
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.model_selection import StratifiedKFold, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder
    except ImportError:
        raise SqlanonError("A task needs scikit-learn: pip install 'sqlanon[task]'") from None
    features, numbers = _features(frame, target)
    words = [column for column in features.columns if column not in numbers]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(TREES, min_samples_leaf=2, random_state=seed))
    rarest = int(frame[target].value_counts().min())
    if rarest < 2:
        common = frame[target].map(frame[target].value_counts()) >= 2
        features, frame = features[common], frame[common]
        rarest = int(frame[target].value_counts().min())
    folds = StratifiedKFold(min(FOLDS, rarest), shuffle=True, random_state=seed)
    return float(np.mean(cross_val_score(model, features, frame[target], cv=folds)))


def _nearest(frame: pd.DataFrame, target: str) -> float | None:
    features, numbers = _features(frame, target)
    if len(numbers) < len(features.columns):
        return None
    labels = frame[target].astype("category").cat.codes.to_numpy()
    return one_nn_error(features.to_numpy(dtype=np.float64), labels)
