// Moves labels apart that would touch, as little as possible, inside [top, bottom]. Pure.
//
// Labels that collide form a block around the mean of the places they want; blocks that meet merge (pool
// adjacent violators), so the result is the least-squares one and keeps the order of the lines.

export function spread(
  wanted: readonly number[],
  height: number,
  at: { top: number; bottom: number },
): number[] {
  const order = wanted
    .map((_, i) => i)
    .sort((a, b) => (wanted[a] as number) - (wanted[b] as number) || a - b);
  const blocks: { start: number; count: number; sum: number }[] = [];
  const centre = (b: { count: number; sum: number }) => {
    const half = (b.count * height) / 2;
    return Math.min(
      Math.max(b.sum / b.count, at.top + half),
      Math.max(at.bottom - half, at.top + half),
    );
  };
  order.forEach((index, rank) => {
    blocks.push({ start: rank, count: 1, sum: wanted[index] as number });
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1] as (typeof blocks)[0];
      const before = blocks[blocks.length - 2] as (typeof blocks)[0];
      const room = ((before.count + last.count) * height) / 2;
      if (centre(last) - centre(before) >= room - 1e-9) break;
      before.count += last.count;
      before.sum += last.sum;
      blocks.pop();
    }
  });
  const placed = new Array<number>(wanted.length);
  for (const block of blocks) {
    const top = centre(block) - (block.count * height) / 2;
    for (let i = 0; i < block.count; i++) {
      placed[order[block.start + i] as number] = top + (i + 0.5) * height;
    }
  }
  return placed;
}
