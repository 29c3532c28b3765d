"""The request lists, chapter by chapter, in the order in which they are sent."""

from __future__ import annotations

from collections.abc import Callable

from replay import Chapter

from cases import (
    artifacts,
    batch,
    bodies,
    experiments,
    history,
    inputs,
    logged_models,
    metrics,
    other_clients,
    params_tags,
    registry,
    routes,
    runs,
    search_experiments,
    search_runs,
    traces,
    versions,
    wrong_types,
)

MAKERS: list[Callable[[], Chapter]] = [
    experiments.chapter,
    search_experiments.chapter,
    runs.chapter,
    metrics.chapter,
    history.chapter,
    params_tags.chapter,
    batch.chapter,
    inputs.chapter,
    search_runs.chapter,
    search_runs.order,
    search_runs.pages,
    artifacts.chapter,
    artifacts.paths,
    registry.chapter,
    registry.search,
    versions.chapter,
    versions.search,
    logged_models.chapter,
    logged_models.search,
    traces.chapter,
    traces.version_2,
    other_clients.r,
    other_clients.java,
    bodies.chapter,
    wrong_types.chapter,
    routes.chapter,
]


def chapters() -> list[Chapter]:
    return [make() for make in MAKERS]
