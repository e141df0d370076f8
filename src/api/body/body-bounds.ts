import { invalidField, requestError } from '../service-error.ts';

/** Array elements and object members of one body: validation costs about a microsecond for each. */
export const MAX_VALUES = 50_000;
/** Most choices of one request, for all of its prompts. */
export const MAX_CHOICES = 128;
/** Deeper than any schema that is accepted, and far below what overflows a stack. */
const MAX_DEPTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Bounds a JSON text before it is parsed: one pass over the bytes, which stops at the first bound that is exceeded. It
 * does not validate: of what is not JSON, it counts what looks like values.
 * @throws ServiceError 400 that names the top-level field
 */
export function checkBodyBounds(json: Uint8Array, maxValues: number): void {
  let depth = 0;
  let values = 0;
  /** The last string at the top level: a key, once a colon follows it. */
  let string: [number, number] = [0, 0];
  let key = string;
  const exceeded = (rule: string) => exceededBy(fieldName(json.subarray(...key)), rule);
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case QUOTE: {
        const end = endOfString(json, at);
        if (depth === 1) string = [at, end + 1];
        at = end;
        break;
      }
      case COLON:
        if (depth === 1) key = string;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth++;
        values++;
        if (depth > MAX_DEPTH) throw exceeded(`is nested deeper than ${MAX_DEPTH} levels`);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--;
        break;
      case COMMA:
        values++;
    }
    if (values > maxValues) {
      throw exceeded(`has too many values: a request may have ${maxValues} in all`);
    }
  }
}

/** Index of the closing quote. */
function endOfString(json: Uint8Array, quote: number): number {
  let at = quote + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Null: no field of the API has such a name. */
function fieldName(quoted: Uint8Array): string | null {
  if (quoted.length > 64) return null;
  return /^"([a-z]\w*)"$/i.exec(new TextDecoder().decode(quoted))?.[1] ?? null;
}

function exceededBy(field: string | null, bound: string) {
  const rule = `${bound}. Send less in one request`;
  return field === null
    ? requestError(400, `The request body ${rule}.`, 'invalid_value')
    : invalidField(field, rule);
}
