"""XGBoost: its own dictionary of results says what is to be recorded, and the trees are those of a training alone."""

import sys

import numpy as np
import truth
import xgboost
from corral.xgboost import CorralCallback

random = np.random.default_rng(0)
x, y = random.normal(size=(300, 4)), random.integers(2, size=300)
data, held_out = xgboost.DMatrix(x[:200], y[:200]), xgboost.DMatrix(x[200:], y[200:])
given = {"nthread": 1, "objective": "binary:logistic", "eval_metric": ["logloss", "auc"], "max_depth": 3, "eta": 0.5}


def train(rounds, callbacks, **more):
    results = {}
    evals = [(data, "train"), (held_out, "test")]
    booster = xgboost.train(
        given, data, rounds, evals=evals, evals_result=results, callbacks=callbacks, verbose_eval=False, **more
    )
    return booster, results


def expect(results, first=0):
    for name, metrics in results.items():
        for metric, scores in metrics.items():
            for n, score in enumerate(scores):
                truth.logged(f"{name}/{metric}", first + n, score)


if sys.argv[1] == "cv":
    table = xgboost.cv(given, data, 6, callbacks=[CorralCallback()])
    for name in table:
        data_name, metric, what = name.split("-")
        for n, value in enumerate(table[name]):
            truth.logged(f"{data_name}/{metric}-{what}", n, value)
    assert len(truth.points) == 8
elif sys.argv[1] == "continued":
    begun, results = train(5, [CorralCallback()])
    expect(results)
    expect(train(4, [CorralCallback()], xgb_model=begun)[1], 5)
else:
    # The callback that stops comes first: XGBoost calls no other one after the last round.
    booster, results = train(50, [xgboost.callback.EarlyStopping(rounds=3), CorralCallback()])
    expect(results)
    assert len(results["test"]["auc"]) < 50
    assert booster.get_dump() == train(50, [xgboost.callback.EarlyStopping(rounds=3)])[0].get_dump()
    truth.tags |= {"best_iteration": str(booster.best_iteration), "best_score": str(booster.best_score)}
    truth.params |= {"max_depth": "3", "objective": "binary:logistic", "eval_metric": "logloss, auc", "eta": "0.5"}
