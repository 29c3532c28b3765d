"""optax within jax.jit: the function returns the norms itself, and the weights are those of a training alone."""

import sys

import jax
import jax.numpy as jnp
import optax
import truth
from corral.optax import record

every = int(sys.argv[2])
optimizer = {
    "adamw": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.01)),
    "sgd": lambda: optax.sgd(0.05),
    "inject": lambda: optax.inject_hyperparams(optax.adam)(optax.cosine_decay_schedule(0.1, 30)),
}[sys.argv[1]]()
keys = jax.random.split(jax.random.key(0), 4)
x, y = jax.random.normal(keys[0], (64, 8)), jax.random.normal(keys[1], (64, 3))


def loss(weights):
    return ((jnp.tanh(x @ weights["a"]) @ weights["b"] - y) ** 2).mean()


def train(optimizer, steps=20):
    weights = {"a": jax.random.normal(keys[2], (8, 16)), "b": jax.random.normal(keys[3], (16, 3))}
    state = optimizer.init(weights)
    norms = []

    @jax.jit
    def step(weights, state):
        gradients = jax.grad(loss)(weights)
        updates, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state, optax.global_norm(gradients), optax.global_norm(updates)

    for _ in range(steps):
        weights, state, *seen = step(weights, state)
        rate = state.hyperparams["learning_rate"] if sys.argv[1] == "inject" else None
        norms.append((*map(float, seen), rate))
    return weights, state, norms


weights, state, norms = train(record(optimizer, every=every))
plain, plain_state, _ = train(optimizer)
same = jax.tree.map(lambda a, b: bool((a == b).all()), (weights, state), (plain, plain_state))
assert all(jax.tree.leaves(same)), same
for n in range(0, 20, every):
    truth.logged("grad_norm", n, norms[n][0])
    truth.logged("update_norm", n, norms[n][1])
    if sys.argv[1] == "inject":
        truth.logged("learning_rate", n, norms[n][2])
