import sys

import lightgbm
import numpy as np
from truth import counts

x, y = np.random.randn(200, 4), np.arange(200) % 2


def count(environment):
    counts["steps"] += 1
    counts["evaluations"] += bool(environment.evaluation_result_list)


quiet = {"verbosity": -1, "num_threads": 1, "objective": "binary"}
data = lightgbm.Dataset(x, y)
booster = lightgbm.train(quiet, data, 12, valid_sets=[lightgbm.Dataset(x, y, reference=data)], callbacks=[count])
booster.save_model(sys.argv[0] + ".txt")
counts["checkpoints"] += 1
lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbosity=-1).fit(x, y, callbacks=[count])
