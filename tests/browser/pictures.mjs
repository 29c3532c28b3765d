// Two screenshots, compared as a reader would: every 4 by 4 pixels are averaged first, so that another rasteriser's
// edges are no difference, while a chart that is missing, has other colours or stands elsewhere is one.

// Pixels on a side that are averaged; the greatest difference of a channel that is none (of 255); tiles of so many
// averaged cells on a side, of which so great a part may differ, and of the whole picture.
const kRules = { cell: 4, slack: 28, tile: 24, ofTile: 0.045, ofAll: 0.004 };

// The picture's share of cells that differ, and the tile that differs most with its place in pixels; `ok` when both
// are within the rules. `page`: any page, which decodes them.
export function difference(page, wanted, actual) {
  const pictures = [wanted, actual].map((png) => png.toString("base64"));
  return page.evaluate(compareIn, { pictures, rules: kRules });
}

// Runs in the page.
async function compareIn({ pictures, rules }) {
  const { cell, slack, tile, ofTile, ofAll } = rules;
  const bitmaps = await Promise.all(
    pictures.map(async (text) => {
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      return createImageBitmap(new Blob([bytes], { type: "image/png" }));
    }),
  );
  const [{ width, height }, other] = bitmaps;
  if (other.width !== width || other.height !== height)
    return { ok: false, all: 1, why: `${other.width} × ${other.height}, not ${width} × ${height}` };
  const [columns, rows] = [Math.ceil(width / cell), Math.ceil(height / cell)];
  const averages = (bitmap) => {
    const context = new OffscreenCanvas(width, height).getContext("2d", {
      willReadFrequently: true,
    });
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    const sums = new Float32Array(columns * rows * 4);
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const to = (Math.floor(y / cell) * columns + Math.floor(x / cell)) * 4;
        const from = (y * width + x) * 4;
        for (let c = 0; c < 3; c++) sums[to + c] += data[from + c];
        sums[to + 3] += 1;
      }
    return sums;
  };
  const [a, b] = bitmaps.map(averages);
  const tiles = new Map();
  let differing = 0;
  for (let i = 0; i < columns * rows; i++) {
    const apart = [0, 1, 2].map((c) => Math.abs(a[i * 4 + c] - b[i * 4 + c]) / a[i * 4 + 3]);
    if (Math.max(...apart) <= slack) continue;
    differing += 1;
    const [x, y] = [Math.floor((i % columns) / tile), Math.floor(i / columns / tile)];
    const key = `${x * tile * cell}, ${y * tile * cell}`;
    tiles.set(key, (tiles.get(key) ?? 0) + 1);
  }
  const [at, most] = [...tiles].sort((one, two) => two[1] - one[1])[0] ?? ["", 0];
  const [all, worst] = [differing / (columns * rows), most / tile ** 2];
  const percent = (share) => `${(100 * share).toFixed(2)} %`;
  const why = `${percent(all)} differ, ${percent(worst)} of the tile at ${at}`;
  return { ok: all <= ofAll && worst <= ofTile, all, worst, why };
}
