import { FormatError, readHeader, startOfBlob } from '../../../model-files/gguf/byte-cursor.ts';
import { readGguf, readTexts } from '../../../model-files/gguf/read-gguf.ts';
import type { SpecialTokens } from '../../prompt/chat-prompt.ts';

const TOKENS_KEY = 'tokenizer.ggml.tokens';

/** Reads the texts of two token ids from a GGUF file; null where the file has none. */
export async function specialTokens(gguf: Blob, bosId: number, eosId: number): Promise<SpecialTokens> {
  try {
    return await readHeader(startOfBlob(gguf), (cursor) => {
      const tokens = readGguf(cursor).metadata.get(TOKENS_KEY);
      const texts = tokens && readTexts(cursor, tokens.at, new Set([bosId, eosId]));
      return { bos: texts?.get(bosId) ?? null, eos: texts?.get(eosId) ?? null };
    });
  } catch (error) {
    if (error instanceof FormatError) return { bos: null, eos: null };
    throw error;
  }
}
