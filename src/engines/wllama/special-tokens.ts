import { hasChatMl, openGguf, readNumbers, readTexts, TOKENS_KEY } from '#gguf';
import { isControlToken, type SpecialTokens } from '#chat-template';

const TYPES_KEY = 'tokenizer.ggml.token_type';
/** Types of tokens that are no text: unknown and control tokens. */
const RESERVED: ReadonlySet<number> = new Set([2, 3]);
const USER_DEFINED = 4;
const MAX_TOKENS = 2 ** 21;
/** First bytes of texts that may be control tokens. */
const FIRST: ReadonlySet<number> = new Set(new TextEncoder().encode('<[_'));
/** CodeLlama's. Reserved in every vocabulary: to read all texts that begin with this sign takes longer, as half of them may. */
const SPACED = ['▁<PRE>', '▁<SUF>', '▁<MID>'];

/**
 * Reads the texts of two token ids from a GGUF file (null if it has none), whether it has ChatML's tokens, and the
 * texts of its special tokens.
 */
export async function specialTokens(gguf: Blob, bosId: number, eosId: number): Promise<SpecialTokens> {
  const { header, cursor } = await openGguf(gguf);
  const [tokens, types] = [header.metadata.get(TOKENS_KEY), header.metadata.get(TYPES_KEY)];
  const typeOf = (types && readNumbers(cursor, types.at, MAX_TOKENS)) ?? [];
  const isReserved = (index: number): boolean => RESERVED.has(typeOf[index] ?? 0);
  const isWanted = (index: number, first: number): boolean =>
    index === bosId ||
    index === eosId ||
    FIRST.has(first) ||
    isReserved(index) ||
    typeOf[index] === USER_DEFINED;
  const texts = tokens ? readTexts(cursor, tokens.at, isWanted) : new Map<number, string>();
  return {
    bos: texts.get(bosId) ?? null,
    eos: texts.get(eosId) ?? null,
    chatMl: hasChatMl(header, cursor),
    reserved: [
      ...SPACED,
      ...[...texts].flatMap(([index, text]) => (isReserved(index) || isControlToken(text) ? [text] : [])),
    ],
    userDefined: [...texts].flatMap(([index, text]) => (typeOf[index] === USER_DEFINED ? [text] : [])),
  };
}
