from common import DataLoader, Slow, loss_of, optimizer
from truth import counts, wait

if __name__ == "__main__":
    for method, workers, persistent in (("fork", 2, False), ("fork", 2, True), ("spawn", 1, False)):
        loader = DataLoader(
            Slow(), batch_size=9, num_workers=workers, persistent_workers=persistent, multiprocessing_context=method
        )
        for _ in range(2):
            counts["epochs"] += 1
            for batch in wait(loader):
                counts["samples"] += len(batch[0])
                loss_of(batch).backward()
                optimizer.step()
                counts["steps"] += 1
