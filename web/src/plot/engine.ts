// Parts of a browser that the page's code expects, and an engine of ES5 lacks. Imported before all else.
import { nativePush } from "./native";
import "core-js/es/array";
import "core-js/es/map";
import "core-js/es/number";
import "core-js/es/object/entries";
import "core-js/es/object/from-entries";
import "core-js/es/object/has-own";
import "core-js/es/object/values";
import "core-js/es/set";
import "core-js/es/string";
import "core-js/es/typed-array";
import "core-js/es/weak-map";

// Theirs checks each length by eight calls.
Array.prototype.push = nativePush;

const globals = globalThis as unknown as Record<string, unknown>;

// The form of addresses: all but letters, digits and *-._ is escaped, and a blank is a plus.
class SearchPairs {
  readonly #pairs: string[] = [];

  append(key: string, value: string): void {
    this.#pairs.push(`${escaped(key)}=${escaped(value)}`);
  }

  toString(): string {
    return this.#pairs.join("&");
  }
}

const escaped = (text: string) =>
  encodeURIComponent(text)
    .replace(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%20/g, "+");

// The local time of the process ($TZ), for the wall clock.
class LocalClock {
  formatToParts(time: number): { type: string; value: string }[] {
    const at = new Date(time);
    const parts = {
      year: at.getFullYear(),
      month: at.getMonth() + 1,
      day: at.getDate(),
      hour: at.getHours(),
      minute: at.getMinutes(),
      second: at.getSeconds(),
    };
    return Object.entries(parts).map(([type, value]) => ({ type, value: String(value) }));
  }

  resolvedOptions(): { timeZone: string } {
    return { timeZone: "local time" };
  }
}

globals.URLSearchParams ??= SearchPairs;
globals.Intl ??= { DateTimeFormat: LocalClock };

export { LocalClock, SearchPairs };
