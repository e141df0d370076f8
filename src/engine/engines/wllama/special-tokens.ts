import type { SpecialTokens } from '../chat-prompt.ts';

/** The vocabulary lies near the start of the file; that of the largest ones takes some megabytes. */
const HEAD_BYTES = 16 * 1024 * 1024;
const TOKENS_KEY = 'tokenizer.ggml.tokens';

/** Format: GGUF version 3. Bytes of a scalar by its type; strings (8) and arrays (9) have their length in front. */
const SCALAR_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const STRING = 8;
const ARRAY = 9;

/** Reads the texts of two token ids off a GGUF file. */
export async function specialTokens(gguf: Blob, bosId: number, eosId: number): Promise<SpecialTokens> {
  const head = new Head(await gguf.slice(0, HEAD_BYTES).arrayBuffer());
  try {
    if (!head.seek(TOKENS_KEY)) return { bos: null, eos: null };
    const texts = head.pick(new Set([bosId, eosId]));
    return { bos: texts.get(bosId) ?? null, eos: texts.get(eosId) ?? null };
  } catch (error) {
    // Metadata beyond the head: such a template must do without.
    if (error instanceof RangeError) return { bos: null, eos: null };
    throw error;
  }
}

class Head {
  readonly #bytes: ArrayBuffer;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: ArrayBuffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes);
  }

  /** Goes to the first element of the array of strings with that key; false: there is none. */
  seek(key: string): boolean {
    this.#at = 16;
    const entries = this.#u64();
    for (let entry = 0; entry < entries; entry++) {
      const name = this.#string();
      const type = this.#u32();
      if (name === key && type === ARRAY) return this.#u32() === STRING;
      this.#skip(type);
    }
    return false;
  }

  /** Those of the array's strings whose index is wanted. */
  pick(wanted: ReadonlySet<number>): Map<number, string> {
    const length = this.#u64();
    const last = Math.max(...wanted);
    const picked = new Map<number, string>();
    for (let index = 0; index < length && index <= last; index++) {
      if (wanted.has(index)) picked.set(index, this.#string());
      else this.#skip(STRING);
    }
    return picked;
  }

  #u32(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }

  #u64(): number {
    this.#at += 8;
    return Number(this.#view.getBigUint64(this.#at - 8, true));
  }

  #string(): string {
    const length = this.#u64();
    this.#at += length;
    return new TextDecoder().decode(new Uint8Array(this.#bytes, this.#at - length, length));
  }

  #skip(type: number): void {
    if (type === STRING) {
      // In two steps: reading the length moves on, too.
      const length = this.#u64();
      this.#at += length;
    } else if (type === ARRAY) {
      const element = this.#u32();
      const length = this.#u64();
      const bytes = SCALAR_BYTES[element];
      if (bytes) this.#at += bytes * length;
      else for (let i = 0; i < length; i++) this.#skip(element);
    } else this.#at += SCALAR_BYTES[type] ?? 0;
    if (this.#at > this.#view.byteLength) throw new RangeError('behind the end of the head');
  }
}
