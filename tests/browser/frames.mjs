// One run with one long series, sent as a training host sends: frames (docs/format-frame.md), many points each.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

const kHeader = 56;
const kKind = { session: 1, schema: 2, samples: 3, end: 8 };
// The content of one frame of at most 4 MiB: 8 bytes a value, 3 a time a millisecond after the one before.
const kRows = 360_000;
const kFramesAtOnce = 8;
const kStepNs = 1_000_000n;

// CRC tables: entry for a byte with so many bytes after it.
const kTables = [new Uint32Array(256)];
for (let i = 0; i < 256; i++) {
  let crc = i;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  kTables[0][i] = crc;
}
for (let after = 1; after < 8; after++)
  kTables.push(kTables[after - 1].map((crc) => kTables[0][crc & 0xff] ^ (crc >>> 8)));

// Eight bytes at once: a gigabyte goes through here.
function crc32c(...parts) {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = kTables;
  let crc = 0xffffffff;
  for (const bytes of parts) {
    let i = 0;
    for (const end = bytes.length - 8; i <= end; i += 8)
      crc =
        t7[(crc ^ bytes[i]) & 0xff] ^
        t6[((crc >>> 8) ^ bytes[i + 1]) & 0xff] ^
        t5[((crc >>> 16) ^ bytes[i + 2]) & 0xff] ^
        t4[(crc >>> 24) ^ bytes[i + 3]] ^
        t3[bytes[i + 4]] ^
        t2[bytes[i + 5]] ^
        t1[bytes[i + 6]] ^
        t0[bytes[i + 7]];
    for (; i < bytes.length; i++) crc = t0[(crc ^ bytes[i]) & 0xff] ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

const u8 = (value) => Buffer.from([value]);
const u32 = (value) => {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(value);
  return out;
};
const i64 = (value) => {
  const out = Buffer.alloc(8);
  out.writeBigInt64LE(BigInt(value));
  return out;
};
const text16 = (text) => {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length & 0xff, bytes.length >> 8]), bytes]);
};

// Encodes a number that is not negative.
function varint(value) {
  let rest = BigInt(value) << 1n;
  const out = [];
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  return Buffer.from([...out, Number(rest)]);
}

function frame(session, number, kind, body) {
  const head = Buffer.alloc(kHeader);
  head.write("CRFR");
  head[4] = 1;
  head[5] = kind;
  head.writeUInt32LE(body.length, 8);
  head.writeUInt32LE(body.length, 12);
  session.copy(head, 16);
  head.writeBigUInt64LE(BigInt(number), 32);
  head.writeBigUInt64LE(BigInt(number), 40);
  head.writeUInt32LE(crc32c(head.subarray(0, 48), body), 48);
  return Buffer.concat([head, body]);
}

// `rows` points from row `first` on, a millisecond apart. Machines of other byte orders have no Corral.
function samples(series, { first, rows, pattern, spikes }) {
  const times = Buffer.concat([
    varint(BigInt(first + 1) * kStepNs),
    Buffer.alloc((rows - 1) * 3, varint(kStepNs)),
  ]);
  const values = new Float64Array(rows);
  const { length } = pattern;
  for (let i = 0; i < rows; i += length) values.set(pattern.subarray(0, rows - i), i);
  for (const [row, value] of spikes)
    if (row >= first && row < first + rows) values[row - first] = value;
  const head = [u32(1), u32(rows), u8(0), u32(1)];
  const bytes = Buffer.from(values.buffer);
  return Buffer.concat([...head, times, u32(series), u8(0), bytes]);
}

// Records `points` values of `metric`, a millisecond apart: the pattern over and over (a Float64Array whose length
// divides kRows), with `spikes` of one point each ([row, value]). Returns the run's id. `start`: ms since 1970.
export async function recordLong(url, { name, metric, points, pattern, spikes, start }) {
  assert.equal(kRows % pattern.length, 0);
  const [session, run, workload] = [randomBytes(16), randomBytes(16), randomBytes(16)];
  let number = 0;
  const next = (kind, ...parts) => frame(session, ++number, kind, Buffer.concat(parts));
  const send = async (frames) => {
    const answer = await fetch(`${url}/api/corral/v1/frames`, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      body: Buffer.concat(frames),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
  const names = ["long", "", name, "host", "supervisor", "boot"].map(text16);
  const described = [i64(1), u8(0), i64(0), i64(BigInt(start) * 1_000_000n), i64(0), i64(0)];
  const series = [u32(1), u32(1), u8(0), u8(0), u8(0), ...[metric, "", ""].map(text16)];
  await send([
    next(kKind.session, run, workload, ...names, ...described),
    next(kKind.schema, ...series),
  ]);
  let sent = Promise.resolve();
  for (let first = 0; first < points; ) {
    const frames = [];
    for (let i = 0; i < kFramesAtOnce && first < points; i++) {
      const rows = Math.min(kRows, points - first);
      frames.push(next(kKind.samples, samples(1, { first, rows, pattern, spikes })));
      first += rows;
    }
    await sent;
    sent = send(frames);
  }
  await sent;
  const end = i64(BigInt(points) * kStepNs);
  await send([next(kKind.end, end, u8(0), u8(1), u32(0), u8(0), u32(0))]);
  return run.toString("hex");
}
