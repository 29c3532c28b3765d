import jax
import jax.numpy as jnp
from truth import counts

for n in range(5):
    with jax.profiler.StepTraceAnnotation("train", step_num=n):
        jnp.ones(3).block_until_ready()
    counts["steps"] += 1
