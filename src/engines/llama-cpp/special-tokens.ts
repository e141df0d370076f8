import { FormatError, readHeader, startOfBlob, hasChatMl, TOKENS_KEY, readGguf, readTexts } from '#gguf';
import type { SpecialTokens } from '#chat-template';

/** Reads the texts of two token ids from a GGUF file (null if it has none), and whether it has ChatML's tokens. */
export async function specialTokens(gguf: Blob, bosId: number, eosId: number): Promise<SpecialTokens> {
  try {
    return await readHeader(startOfBlob(gguf), (cursor) => {
      const header = readGguf(cursor);
      const tokens = header.metadata.get(TOKENS_KEY);
      const texts = tokens && readTexts(cursor, tokens.at, new Set([bosId, eosId]));
      return {
        bos: texts?.get(bosId) ?? null,
        eos: texts?.get(eosId) ?? null,
        chatMl: hasChatMl(header, cursor),
      };
    });
  } catch (error) {
    if (error instanceof FormatError) return { bos: null, eos: null };
    throw error;
  }
}
