"""LightGBM: its own callback says what is to be recorded, and the trees are those of a training alone."""

import sys

import lightgbm
import numpy as np
import truth
from corral.lightgbm import corral_callback

random = np.random.default_rng(0)
x, y = random.normal(size=(300, 4)), random.integers(2, size=300)
given = {"verbosity": -1, "num_threads": 1, "objective": "binary", "metric": ["binary_logloss", "auc"]}


def expect(results):
    for name, metrics in results.items():
        for metric, scores in metrics.items():
            for n, score in enumerate(scores):
                truth.logged(f"{name}/{metric}", n, score)


def train(*callbacks):
    data = lightgbm.Dataset(x[:200], y[:200])
    held_out = lightgbm.Dataset(x[200:], y[200:], reference=data)
    stop = lightgbm.early_stopping(3, verbose=False)
    return lightgbm.train(given, data, 50, valid_sets=[data, held_out], callbacks=[stop, *callbacks])


if sys.argv[1] == "cv":
    results = lightgbm.cv(given, lightgbm.Dataset(x, y), 6, callbacks=[corral_callback()])
    expect({"valid": {name.removeprefix("valid "): scores for name, scores in results.items()}})
    assert len(truth.points) == 4
elif sys.argv[1] == "sklearn":
    model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbosity=-1)
    model.fit(x, y, eval_set=[(x, y)], callbacks=[corral_callback()])
    expect(model.evals_result_)
else:
    results = {}
    booster = train(corral_callback(), lightgbm.record_evaluation(results))
    expect(results)
    assert len(results["valid_1"]["auc"]) < 50
    assert booster.model_to_string() == train().model_to_string()
    truth.params |= {"objective": "binary", "metric": "['binary_logloss', 'auc']"}
