import random
import time

import corral

corral.params({"lr": 0.1, "batch": 32})
for epoch in range(30):
    with corral.phase("epoch", index=epoch):
        for step in range(10):
            time.sleep(0.01)  # the forward and backward pass
            loss = 1 / (1 + epoch + step / 10) + random.random() / 20
            corral.log("loss", loss, step=epoch * 10 + step)
