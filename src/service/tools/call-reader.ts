/** A part of a reply that calls functions, in the order in which it is written. */
export type CallPart =
  | { type: 'call'; call: number; name: string }
  /** The next piece of that call's arguments: JSON text. */
  | { type: 'arguments'; call: number; text: string };

const HEAD = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*(?=\S)/;

/** Parses a list of calls (`[{"name":…,"arguments":…},…]`) while it is written. */
export class CallReader {
  #calls = 0;
  /** Text between the arguments of two calls; null: within arguments. */
  #between: string | null = '';
  #depth = 0;
  #inString = false;
  #escaped = false;

  push(text: string): CallPart[] {
    const parts: CallPart[] = [];
    for (let rest = text; rest !== '';) {
      rest = this.#between === null ? this.#readArguments(rest, parts) : this.#readHead(rest, parts);
    }
    return parts;
  }

  #readHead(text: string, parts: CallPart[]): string {
    const between = (this.#between ?? '') + text;
    const start = between.indexOf('{');
    const head = start === -1 ? null : HEAD.exec(between.slice(start));
    if (!head?.[1]) {
      this.#between = between;
      return '';
    }
    this.#between = null;
    parts.push({ type: 'call', call: this.#calls, name: JSON.parse(head[1]) as string });
    this.#calls += 1;
    return between.slice(start + head[0].length);
  }

  #readArguments(text: string, parts: CallPart[]): string {
    const end = this.#endOfValue(text);
    const piece = text.slice(0, end);
    if (piece !== '') parts.push({ type: 'arguments', call: this.#calls - 1, text: piece });
    return text.slice(end);
  }

  /** Where the arguments end: they are one JSON value. */
  #endOfValue(text: string): number {
    for (let index = 0; index < text.length; index += 1) {
      const character = text.charAt(index);
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString) {
        if (character === '\\') this.#escaped = true;
        else if (character === '"') this.#inString = false;
      } else if (character === '"') this.#inString = true;
      else if (character === '{' || character === '[') this.#depth += 1;
      else if (character === '}' || character === ']') {
        this.#depth -= 1;
        if (this.#depth > 0) continue;
        this.#between = '';
        // Of a value that is no object or array, the bracket is not part.
        const end = this.#depth === 0 ? index + 1 : index;
        this.#depth = 0;
        return end;
      }
    }
    return text.length;
  }
}
