"""Predict how fast pipelines of stages will run: `millrace model` and `millrace simulate`.

    from millrace import models

    answer = models.predict("load serial 0.55ms; work 6ms; out ordered 10us", threads=[1, 2, 4, 8])
    print(answer.why)
    for row in answer.predictions:
        print(row.strategy, row.cores, row.seconds)
    print(models.simulate("load serial 0.55ms; work 6ms", cores=4, strategy="pools").items_per_second)

A pipeline is a list of stages separated by ";", or the name of a .toml file. docs/model.md explains the syntax and
the results. Mistakes raise UsageError.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _millrace

if TYPE_CHECKING:
    from ._runs import Path

Strategy = Literal["pools", "oversubscribed", "collapsed", "stealing"]


@dataclass(frozen=True)
class Pool:
    """Threads of one stage, or of adjacent stages that are collapsed."""

    first_stage: int
    last_stage: int
    threads: int


@dataclass(frozen=True)
class StageDemand:
    name: str
    kind: str  # "serial", "ordered", "parallel"
    service_s: float  # mean seconds per item
    cv: float  # coefficient of variation
    demand_s: float  # seconds per item of the source


@dataclass(frozen=True)
class Prediction:
    """Prediction for one strategy on a number of cores."""

    strategy: Strategy
    asked: int  # entry of `threads` that this answers
    cores: int
    threads: int
    pools: tuple[Pool, ...]  # empty with stealing
    seconds: float  # of the whole run
    low_seconds: float
    high_seconds: float
    speed_up: float  # relative to the sequential time
    efficiency: float
    limit: str  # the bottleneck
    tokens: int | None = None
    queue: int | None = None


@dataclass(frozen=True)
class Answer:
    """What predict() returns."""

    items: int
    sequential_seconds: float
    slowest_serial_stage: str  # "" if there is none
    serial_seconds: float  # its time for the whole run, a lower bound for every plan
    method: str  # "simulation" or "formulas"
    stages: tuple[StageDemand, ...]
    predictions: tuple[Prediction, ...]
    recommended: Prediction
    why: str


@dataclass(frozen=True)
class StageWork:
    name: str
    items: int
    busy_s: float


@dataclass(frozen=True)
class PoolWaits:
    blocked_s: float
    starved_s: float


@dataclass(frozen=True)
class Simulation:
    """What simulate() returns."""

    strategy: Strategy
    cores: int
    threads: int
    tokens: int
    queue: int
    seconds: float  # until the last item leaves
    source_items: int
    items_out: int
    items_per_second: float
    steady_items_per_second: float  # without filling and draining
    busy_core_seconds: float
    mean_items_inside: float
    most_items_inside: int
    sojourn_s: float
    stages: tuple[StageWork, ...]
    pools: tuple[PoolWaits, ...]


def predict(pipeline: Path, threads: Union[int, Iterable[int]] = (1, 2, 4, 8, 16), *, cores: int | None = None,
            strategies: Union[Strategy, Iterable[Strategy], None] = None, tokens: int | None = None,
            queue: int | None = None, items: int | None = None, seed: int | None = None, sticky: bool = False,
            formulas: bool = False) -> Answer:
    """Predict the time of each strategy for these numbers of threads, and recommend one. If `cores` is given, predict
    the stream runtime with these threads on a machine with so many cores."""
    told = _asked(_millrace.predict, pipeline=pipeline, threads=_listed(threads), cores=cores,
                  strategies=_listed(strategies), tokens=tokens, queue=queue, items=items, seed=seed, sticky=sticky,
                  formulas=formulas)
    rows = tuple(Prediction(**{**row, "pools": tuple(Pool(**pool) for pool in row["pools"])})
                 for row in told["predictions"])
    return Answer(items=told["items"], sequential_seconds=told["sequential_seconds"],
                  slowest_serial_stage=told["slowest_serial_stage"], serial_seconds=told["serial_seconds"],
                  method=told["method"], stages=tuple(StageDemand(**stage) for stage in told["stages"]),
                  predictions=rows, recommended=rows[told["recommended"]], why=told["why"])


def simulate(pipeline: Path, *, cores: int | None = None, machine: str | None = None, strategy: Strategy | None = None,
             tokens: int | None = None, queue: int | None = None, items: int | None = None, seed: int | None = None,
             sticky: bool = False) -> Simulation:
    """Simulate one strategy item by item. The machine has `cores` cores, or is an hwloc description ("pack:8 core:128
    pu:2"), or is this machine. Other threads run meanwhile. Ctrl-C takes effect at the end."""
    told = _asked(_millrace.simulate, pipeline=pipeline, cores=cores, machine=machine, strategy=strategy, tokens=tokens,
                  queue=queue, items=items, seed=seed, sticky=sticky)
    stages = tuple(StageWork(**stage) for stage in told.pop("stages"))
    pools = tuple(PoolWaits(**pool) for pool in told.pop("pools"))
    return Simulation(**{name: value for name, value in told.items() if name not in ("schema", "version")},
                      stages=stages, pools=pools)


def _asked(answer: Any, *, pipeline: Path, **question: Any) -> dict[str, Any]:
    words = {"pipeline": os.fspath(pipeline), **question}
    try:
        text = json.dumps({name: value for name, value in words.items() if value is not None})
    except TypeError as error:
        raise _millrace.UsageError(f"a model is asked with numbers and words: {error}") from None
    return dict(json.loads(answer(text)))


def _listed(values: Any) -> Any:
    return values if values is None or isinstance(values, (int, float, str)) else list(values)
