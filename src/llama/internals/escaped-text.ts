/**
 * Decodes texts of llama.cpp's server whose bytes are not UTF-8, such as a token with half a character. JSON cannot
 * contain such bytes; tools/kernels/server.h writes each of them as two noncharacters.
 *
 * @remarks
 * - Relies on: the kernels in the WASM.
 * - Read in: tools/kernels/server.h.
 * - Notices: test/unit/tools/kernels/server.test.ts.
 * - Then: a token with half a character ends the engine if the request asks for log probabilities.
 */
const ESCAPED = /((?:[\uFDD0-\uFDDF]{2})+)/;
const FIRST = 0xfdd0;

const byteOf = (text: string, at: number): number =>
  ((text.charCodeAt(at) - FIRST) << 4) | (text.charCodeAt(at + 1) - FIRST);

/** Converts a text to bytes, and unescapes those that are escaped. */
export function withoutEscapes(text: string): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts = text.split(ESCAPED).map((part, index) =>
    // Parts with odd indexes are escaped.
    index % 2 === 0
      ? encoder.encode(part)
      : Uint8Array.from({ length: part.length / 2 }, (_, i) => byteOf(part, 2 * i)),
  );
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** Text of one token for display. Incomplete bytes are written as OpenAI does: `\\xf0`. */
export const readable = (text: string): string =>
  text.replaceAll(/[\uFDD0-\uFDDF]{2}/g, (pair) => `\\x${byteOf(pair, 0).toString(16).padStart(2, '0')}`);

/** Joins the texts of one reply, as a character may span several. */
export class TextJoiner {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #isPartial = false;

  join(text: string): string {
    if (!this.#isPartial && !ESCAPED.test(text)) return text;
    this.#isPartial = true;
    return this.#decoder.decode(withoutEscapes(text), { stream: true });
  }
}
