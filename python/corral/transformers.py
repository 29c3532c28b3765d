"""A callback for Hugging Face's Trainer: `Trainer(..., callbacks=[CorralCallback()])`."""

from __future__ import annotations

from transformers import TrainerCallback

import corral
from corral import _callback
from corral._callback import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CorralCallback(TrainerCallback):
    """Records what the Trainer logs, by global step, and the TrainingArguments as params, on the first process.

    Names are those of its TensorBoard and W&B callbacks: `train/loss`, `eval/loss`. At the end the best metric and its
    checkpoint become tags.
    """

    @harmless
    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            _callback.params(args.to_dict())
            corral.event("train_begin", global_step=state.global_step, max_steps=state.max_steps)

    @harmless
    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            _callback.log({_name(key): value for key, value in (logs or {}).items()}, state.global_step)

    @harmless
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            corral.event("train_end", global_step=state.global_step, epoch=state.epoch)
            if state.best_metric is not None:
                corral.tag("best_metric", state.best_metric)
            if state.best_model_checkpoint:
                corral.tag("best_model_checkpoint", state.best_model_checkpoint)


def _name(key: str) -> str:
    for group in ("eval", "test"):
        if key.startswith(f"{group}_"):
            return f"{group}/{key[len(group) + 1 :]}"
    return f"train/{key}"
