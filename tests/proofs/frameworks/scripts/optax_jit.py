import jax
import jax.numpy as jnp
import optax
from truth import counts

parameters = jnp.zeros(4)
optimizer = optax.adam(0.01)
state = optimizer.init(parameters)


@jax.jit
def step(parameters, state):
    updates, state = optimizer.update(jax.grad(lambda p: ((p - 1) ** 2).sum())(parameters), state)
    return optax.apply_updates(parameters, updates), state


for _ in range(20):
    parameters, state = step(parameters, state)
    counts["steps"] += 1
