import sys

import numpy as np
import xgboost
from truth import counts

x, y = np.random.randn(200, 4), np.arange(200) % 2


class Counting(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        counts["steps"] += 1
        counts["evaluations"] += bool(evals_log)
        return False


data = xgboost.DMatrix(x, y)
booster = xgboost.train({"nthread": 1}, data, 12, evals=[(data, "train")], callbacks=[Counting()], verbose_eval=False)
booster.save_model(sys.argv[0] + ".json")
counts["checkpoints"] += 1
xgboost.XGBClassifier(n_estimators=5, n_jobs=1, callbacks=[Counting()]).fit(x, y)


def own(predicted, data):
    return predicted - data.get_label(), np.ones(len(predicted))


xgboost.train({"nthread": 1}, data, 3, obj=own, callbacks=[Counting()])
