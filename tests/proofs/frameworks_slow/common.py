"""Shared by the programs: their options, pictures and texts that are made, and what is done to them before a step."""

from __future__ import annotations

import argparse
import re
import time

import numpy as np
from PIL import Image, ImageFilter

SIDE = 32
LATENCY = 0.002  # seconds until a server answers with one sample
WORD = re.compile(r"\w+|[^\w\s]")


def options(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cure", action="store_true", help="without the bottleneck")
    parser.add_argument("--seconds", type=float, default=20)
    return parser.parse_args()


def picture(index: int) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, (128, 128, 3), np.uint8)


def augmented(pixels: np.ndarray, index: int) -> np.ndarray:
    """Rotated, blurred and made smaller: some ms of CPU time."""
    turned = Image.fromarray(pixels).rotate(index % 360, Image.Resampling.BICUBIC)
    small = turned.filter(ImageFilter.GaussianBlur(3)).resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    return np.asarray(small, np.float32).transpose(2, 0, 1) / 255


def cropped(pixels: np.ndarray) -> np.ndarray:
    """The cheap way to the same size."""
    return np.asarray(pixels[:SIDE, :SIDE], np.float32).transpose(2, 0, 1) / 255


def fetched(index: int, cure: bool) -> np.ndarray:
    """A small picture that comes from afar, or cured from memory."""
    if not cure:
        time.sleep(LATENCY)
    return np.full((3, SIDE, SIDE), index % 7, np.float32)


def text(index: int) -> str:
    words = np.random.default_rng(index).integers(0, 5000, 3000)
    return " ".join(f"w{word}," if word % 7 == 0 else f"w{word}" for word in words)


def tokenized(document: str, length: int) -> np.ndarray:
    """All words of the document are read, as a tokenizer does, and the last ones are kept."""
    numbers = [hash_of(word) for word in WORD.findall(document)]
    return np.asarray(numbers[-length:], np.int64)


def hash_of(word: str) -> int:
    number = 0
    for letter in word:
        number = (number * 31 + ord(letter)) % 997
    return number
