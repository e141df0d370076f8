/** Maximum characters of a key. V8 compares keys of equal length above 16,383 characters with each other. */
export const MAX_KEY = 4096;
/** Maximum nesting: deeper than any accepted schema, and far below what overflows a stack. */
const MAX_DEPTH = 200;

interface Excess {
  /** "has too long a name" */
  rule: string;
  /** Top-level key of the place, quoted. */
  key: Uint8Array;
}

/**
 * Bounds a JSON text before it is parsed: one pass over the bytes, which stops at the first bound that is
 * exceeded. It does not validate: in invalid JSON, it counts what looks like values. Null: it is within the
 * bounds.
 */
export function findExcess(json: Uint8Array, maxValues: number): Excess | null {
  let depth = 0;
  let values = 0;
  /** The last string: a key, once a colon follows it. */
  let string: [number, number] = [0, 0];
  let key = string;
  const exceeded = (rule: string): Excess => ({ rule, key: json.subarray(...key) });
  for (let at = 0; at < json.length; at++) {
    // Literals: bundlers make variables of constants, which engines compare one after another.
    switch (json[at]) {
      case 0x22 /* " */: {
        const end = endOfString(json, at);
        string = [at, end + 1];
        at = end;
        break;
      }
      case 0x3a /* : */:
        if (depth === 1) key = string;
        if (string[1] - string[0] > MAX_KEY) return exceeded('has too long a name');
        break;
      case 0x5b /* [ */:
      case 0x7b /* { */:
        depth++;
        values++;
        if (depth > MAX_DEPTH) return exceeded(`is nested deeper than ${MAX_DEPTH} levels`);
        break;
      case 0x5d /* ] */:
      case 0x7d /* } */:
        depth--;
        break;
      case 0x2c /* , */:
        values++;
    }
    if (values > maxValues) return exceeded(`exceeds the limit of ${maxValues} values in all`);
  }
  return null;
}

/** Index of the closing quote. */
function endOfString(json: Uint8Array, quote: number): number {
  let at = quote + 1;
  while (at < json.length && json[at] !== 0x22 /* " */) at += json[at] === 0x5c /* \ */ ? 2 : 1;
  return at;
}
