import random
import time

import corral

corral.params({"lr": 0.1, "batch": 32})
for epoch in range(5):
    with corral.phase("epoch", index=epoch):
        for step in range(100):
            time.sleep(0.01)  # the forward and backward pass
            loss = 1 / (1 + epoch + step / 100) + random.random() / 20
            corral.log("loss", loss, step=epoch * 100 + step)
