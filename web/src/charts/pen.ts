// Collects the points of a path without an allocation per point: the room is kept from path to path, and the
// points are copied out once, as long as they are.
import type { Points } from "./marks";

export class Pen {
  #room = new Float64Array(4096);
  #length = 0;

  clear(): void {
    this.#length = 0;
  }

  // Room for so many numbers more.
  #make(count: number): void {
    if (this.#length + count <= this.#room.length) return;
    const more = new Float64Array(this.#room.length * 2);
    more.set(this.#room);
    this.#room = more;
  }

  to(x: number, y: number): void {
    this.#make(2);
    this.#room[this.#length++] = x;
    this.#room[this.#length++] = y;
  }

  bar(x: number, top: number, bottom: number): void {
    this.#make(3);
    this.#room[this.#length++] = x;
    this.#room[this.#length++] = top;
    this.#room[this.#length++] = bottom;
  }

  // The next point begins a new part.
  lift(): void {
    const last = this.#length - 1;
    if (last > 0 && !Number.isNaN(this.#room[last] as number)) this.to(Number.NaN, Number.NaN);
  }

  points(): Points {
    const last = this.#length - 1;
    const end = last > 0 && Number.isNaN(this.#room[last] as number) ? last - 1 : last + 1;
    return this.#room.slice(0, end);
  }
}
