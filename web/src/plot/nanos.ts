// Stands for format/nanos.ts where there is no BigInt: whole seconds, and the nanoseconds above them. Pure.

const kSecond = 1e9;
const kDigit = 0x10000;

class Nanos {
  // A multiple of a second has nine zero bits, so that up to 146 years it is exact as a number: only the sum is rounded.
  constructor(
    readonly seconds: number,
    readonly rest: number,
  ) {}

  toString(): string {
    const negative = this.seconds < 0;
    const whole = negative ? -this.seconds - (this.rest > 0 ? 1 : 0) : this.seconds;
    const rest = negative && this.rest > 0 ? kSecond - this.rest : this.rest;
    const digits =
      (whole === 0 ? "" : String(whole)) + String(rest).padStart(whole === 0 ? 0 : 9, "0");
    return (negative ? "-" : "") + digits;
  }

  // JSON has it as the page writes it.
  toJSON(): string {
    return this.toString();
  }
}

// The page's code knows them as bigint, and does nothing with them but what is here.
const hidden = (value: Nanos) => value as unknown as bigint;
const shown = (value: bigint) => value as unknown as Nanos;

const normal = (seconds: number, rest: number): Nanos =>
  rest < 0 ? new Nanos(seconds - 1, rest + kSecond) : new Nanos(seconds + 0, rest + 0);

export function nanos(value: string | number | bigint): bigint {
  if (typeof value === "number") {
    const rest = value % kSecond;
    return hidden(normal(Math.round((value - rest) / kSecond), rest));
  }
  const text = String(value);
  if (!/^-?\d+$/.test(text)) throw new SyntaxError(`'${text}' is no number of nanoseconds`);
  const sign = text[0] === "-" ? -1 : 1;
  const digits = sign < 0 ? text.slice(1) : text;
  return hidden(normal(sign * Number(digits.slice(0, -9)), sign * Number(digits.slice(-9))));
}

export function nanosBetween(a: bigint, b: bigint): number {
  const [x, y] = [shown(a), shown(b)];
  return (x.seconds - y.seconds) * kSecond + (x.rest - y.rest);
}

export function later(value: bigint, by: number): bigint {
  const { seconds, rest } = shown(value);
  const more = by % kSecond;
  const whole = seconds + Math.round((by - more) / kSecond);
  const sum = rest + more;
  return hidden(sum >= kSecond ? new Nanos(whole + 1, sum - kSecond) : normal(whole, sum));
}

// Long division of 64 bits by a second.
export function readNanos(view: DataView, at: number): bigint {
  const negative = view.getInt32(at + 4, true) < 0;
  const digits = [6, 4, 2, 0].map((place) => view.getUint16(at + place, true));
  if (negative) {
    // Two's complement.
    let carry = 1;
    for (let i = 3; i >= 0; i--) {
      const digit = kDigit - 1 - (digits[i] as number) + carry;
      carry = digit === kDigit ? 1 : 0;
      digits[i] = digit % kDigit;
    }
  }
  let [seconds, rest] = [0, 0];
  for (const digit of digits) {
    const now = rest * kDigit + digit;
    seconds = seconds * kDigit + Math.floor(now / kSecond);
    rest = now % kSecond;
  }
  return hidden(negative ? normal(-seconds, -rest) : new Nanos(seconds, rest));
}

export const readCount = (view: DataView, at: number): number =>
  view.getUint32(at + 4, true) * 0x100000000 + view.getUint32(at, true);
