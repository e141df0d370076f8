import { invalidField, unsupported } from '../../errors/service-error.ts';
import { readHeader, startOfBlob } from '../../model-files/gguf/byte-cursor.ts';
import { TOKENS_KEY } from '../../model-files/gguf/gguf-facts.ts';
import { readGguf, readTexts } from '../../model-files/gguf/read-gguf.ts';

/** Functions from a token's text in the vocabulary to its bytes, by `tokenizer.ggml.model`. */
const BYTES: Record<string, ((text: string) => number[]) | undefined> = {
  gpt2: byteLevel,
  llama: sentencePiece,
  gemma4: sentencePiece,
};

/**
 * Detokenizes ids with the vocabulary in a GGUF header: llama.cpp's server in WASM only takes text.
 * @throws ServiceError 400
 */
export async function detokenize(gguf: Blob, ids: readonly number[]): Promise<string> {
  const { tokenizer, addsSpace, texts } = await readHeader(startOfBlob(gguf), (cursor) => {
    const { metadata } = readGguf(cursor);
    const tokens = metadata.get(TOKENS_KEY);
    return {
      tokenizer: String(metadata.get('tokenizer.ggml.model')?.value),
      addsSpace: metadata.get('tokenizer.ggml.add_space_prefix')?.value !== 0,
      texts: tokens ? readTexts(cursor, tokens.at, new Set(ids)) : new Map<number, string>(),
    };
  });
  const toBytes = BYTES[tokenizer];
  if (!toBytes) throw unsupported('prompt', 'must be text for this model: it cannot take token ids');
  const bytes = ids.flatMap((id) => {
    const text = texts.get(id);
    if (text === undefined) throw invalidField('prompt', `has the token id ${id}, which this model lacks`);
    return toBytes(text);
  });
  const text = decode(bytes);
  // llama.cpp adds the space again.
  return tokenizer === 'llama' && addsSpace ? text.replace(/^ /, '') : text;
}

function decode(bytes: readonly number[]): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    throw invalidField('prompt', 'has token ids that are parts of a character: give all of its tokens');
  }
}

const encoder = new TextEncoder();

/** Byte-level vocabularies write each byte as a character: printable ones as themselves, the others from U+0100 on. */
const BYTE_OF = new Map<string, number>();
let unprintable = 0x100;
for (let byte = 0; byte < 0x100; byte++) {
  const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  BYTE_OF.set(String.fromCodePoint(isPrintable ? byte : unprintable++), byte);
}

/** Special tokens have other characters, too; they are encoded as UTF-8. */
function byteLevel(text: string): number[] {
  return Array.from(text).flatMap((character) => BYTE_OF.get(character) ?? [...encoder.encode(character)]);
}

function sentencePiece(text: string): number[] {
  const byte = /^<0x([\dA-F]{2})>$/i.exec(text)?.[1];
  return byte === undefined ? [...encoder.encode(text.replaceAll('▁', ' '))] : [Number.parseInt(byte, 16)];
}
