/**
 * Reads texts of llama.cpp's server whose bytes are not UTF-8, such as a token that holds half a character. Its JSON cannot
 * hold them; tools/kernels/server.h writes each such byte as two noncharacters.
 *
 * @remarks
 * - Relies on: the kernels in the WASM.
 * - Read in: tools/kernels/server.h.
 * - Notices: test/unit/tools/kernels/server.test.ts.
 * - Then: a token that holds half a character ends the engine, where log probabilities are asked for.
 */
const ESCAPED = /((?:[\uFDD0-\uFDDF]{2})+)/;
const FIRST = 0xfdd0;

const byteOf = (text: string, at: number): number =>
  ((text.charCodeAt(at) - FIRST) << 4) | (text.charCodeAt(at + 1) - FIRST);

/** The bytes of a text, escaped ones among them. */
export function withoutEscapes(text: string): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts = text.split(ESCAPED).map((part, index) =>
    // Every second one was escaped.
    index % 2 === 0
      ? encoder.encode(part)
      : Uint8Array.from({ length: part.length / 2 }, (_, i) => byteOf(part, 2 * i)),
  );
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** The text of one token, for people: as OpenAI writes it, bytes that are no character are `\\xf0`. */
export const readable = (text: string): string =>
  text.replaceAll(/[\uFDD0-\uFDDF]{2}/g, (pair) => `\\x${byteOf(pair, 0).toString(16).padStart(2, '0')}`);

/** Joins the texts of one reply: a character may be spread over several. */
export class TextJoiner {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #isPartial = false;

  join(text: string): string {
    if (!this.#isPartial && !ESCAPED.test(text)) return text;
    this.#isPartial = true;
    return this.#decoder.decode(withoutEscapes(text), { stream: true });
  }
}
