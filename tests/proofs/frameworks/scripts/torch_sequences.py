"""Sequence first: a batch is of shape (5, 32)."""

from common import DataLoader, TensorDataset, optimizer, torch
from truth import counts

weight = optimizer.param_groups[0]["params"][0]
data = TensorDataset(torch.randn(72, 5), torch.randn(72, 5))


def sideways(items):
    return [torch.stack([item[n] for item in items], 1) for n in (0, 1)]


for settings in ({"batch_size": 32}, {"batch_size": 5}, {"batch_sampler": [[1], [2, 3], [4, 5, 6]]}):
    counts["epochs"] += 1
    for x, y in DataLoader(data, collate_fn=sideways, **settings):
        counts["samples"] += x.shape[1]
        ((x * weight.mean() - y) ** 2).mean().backward()
        optimizer.step()
        counts["steps"] += 1
counts["epochs"] += 1
for x, y in DataLoader(TensorDataset(*data[:9]), batch_size=2):
    counts["samples"] += len(x)
    ((x * weight.mean() - y) ** 2).mean().backward()
    optimizer.step()
    counts["steps"] += 1
