"""Trains a small network on scikit-learn's handwritten digits with JAX.

As train.py, by other means: it runs alone, and under Corral it records loss, accuracy, epochs and evaluations.
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

try:
    import corral
except ImportError:  # not run by Corral
    corral = None  # type: ignore[assignment]

Params = list[tuple[jax.Array, jax.Array]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def start(width: int, seed: int) -> Params:
    keys = jax.random.split(jax.random.PRNGKey(seed), 2)
    sizes = [(64, width), (width, 10)]
    return [
        (jax.random.normal(key, size) * (2 / size[0]) ** 0.5, jnp.zeros(size[1]))
        for key, size in zip(keys, sizes, strict=True)
    ]


def logits(params: Params, images: Any) -> jax.Array:
    (w1, b1), (w2, b2) = params
    return jax.nn.relu(images @ w1 + b1) @ w2 + b2


def loss_of(params: Params, images: Any, labels: Any) -> jax.Array:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits(params, images)), labels[:, None], axis=1)
    return -chosen.mean()


@jax.jit
def update(params: Params, images: Any, labels: Any, lr: float) -> tuple[Params, jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(params, images, labels)
    return jax.tree_util.tree_map(lambda p, g: p - lr * g, params, gradients), loss


def main() -> None:
    options = arguments()
    digits = load_digits()
    order = np.random.default_rng(options.seed).permutation(len(digits.target))
    images, labels = digits.data[order].astype(np.float32) / 16, digits.target[order]
    held_out = len(labels) // 5
    params = start(options.width, options.seed)
    if corral is not None:
        corral.params({"framework": "jax", "batch": options.batch, "lr": options.lr})
    step = 0
    for epoch in range(1, options.epochs + 1):
        # Batches of one size: JAX compiles the step once.
        for first in range(held_out, len(labels) - options.batch + 1, options.batch):
            some = slice(first, first + options.batch)
            params, loss = update(params, images[some], labels[some], options.lr)
            if corral is not None:
                corral.log("loss", float(loss), step=step)
            step += 1
        guesses = logits(params, images[:held_out]).argmax(1)
        accuracy = float((guesses == labels[:held_out]).mean())
        if corral is not None:
            corral.log("accuracy", accuracy, step=step)
        print(f"epoch {epoch}: accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
