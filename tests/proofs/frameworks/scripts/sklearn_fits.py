import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from truth import counts

x, y = np.random.randn(120, 4), np.arange(120) % 2
for model in (SGDClassifier(), MLPClassifier((4,)), MiniBatchKMeans(2, n_init=1)):
    for n in range(4):
        part = slice(30 * n, 30 * n + 30)
        more = {} if isinstance(model, MiniBatchKMeans) else {"classes": [0, 1]}
        model.partial_fit(x[part], y[part], **more)
        counts["steps"] += 1
        counts["samples"] += 30
for model in (RandomForestClassifier(2, warm_start=True), GradientBoostingClassifier(n_estimators=2, warm_start=True)):
    for _ in range(3):
        model.n_estimators += 2
        model.fit(x, y)
        counts["steps"] += 1
        counts["samples"] += 120
make_pipeline(StandardScaler(), RandomForestClassifier(3)).fit(x, y)  # no warm start: no loop
