import jax
import jax.numpy as jnp
import optax
from truth import counts

parameters = jnp.zeros(4)
optimizer = optax.adam(0.01)
state = optimizer.init(parameters)
gradient = jax.jit(jax.grad(lambda p: ((p - 1) ** 2).sum()))
for _ in range(20):
    updates, state = optimizer.update(gradient(parameters), state)
    parameters = optax.apply_updates(parameters, updates)
    counts["steps"] += 1
