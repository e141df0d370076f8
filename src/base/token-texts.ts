/**
 * Decodes tokens one after another. A character may be spread over several tokens: its last token completes
 * it.
 */
export class TokenTexts {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  /** The characters that this token completes. */
  next({ token, bytes }: { token: string; bytes: readonly number[] | null }): string {
    return bytes ? this.#decoder.decode(Uint8Array.from(bytes), { stream: true }) : token;
  }
}
