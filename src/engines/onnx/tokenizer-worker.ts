import { Tokenizer } from '@huggingface/tokenizers';

import { isObject, messageOf } from '#base';
import { type PlainEncoder, type PlainTokenizer, plainEncoder } from './plain-encoder.ts';

export interface TokenizerShape {
  /** Special tokens before a text, and `after` it. */
  before: number[];
  after: number[];
  vocabularySize: number;
}

/** Why a file cannot be used, as a phrase that follows its name. */
export interface FileFault {
  file: string;
  fault: string;
  /** Message of the original error. */
  cause?: string;
}

/** Token ids of a text, special tokens included; only their number if they exceed the context. */
export type TokenizedText = number[] | number;

let loaded: { encode: PlainEncoder; shape: TokenizerShape } | null = null;

/** Tokenizes for one model in a worker that can be terminated: regular expressions in a tokenizer's file may run forever. */
export const tokenizerWorker = {
  /** @param files by name */
  async load(files: ReadonlyMap<string, Blob>): Promise<TokenizerShape | FileFault> {
    try {
      const tokenizer = await readTokenizer(files);
      loaded = { encode: plainEncoder(tokenizer), shape: shapeOf(tokenizer) };
      return loaded.shape;
    } catch (error) {
      console.error('localtext: a tokenizer was not loaded', error);
      return { ...(await findFault(files)), cause: messageOf(error) };
    }
  },

  /**
   * @param maxTokens maximum number of tokens per text
   * @param cutTo maximum number of a text's own tokens: longer texts are cut to it, and to `maxTokens`
   */
  async tokenize(texts: readonly string[], maxTokens: number, cutTo?: number): Promise<TokenizedText[]> {
    if (!loaded) throw new Error('no tokenizer is loaded');
    const { encode, shape } = loaded;
    const room = Math.max(0, maxTokens - shape.before.length - shape.after.length);
    return texts.map((text) => {
      const own = encode(text);
      const ids = [
        ...shape.before,
        ...(cutTo === undefined ? own : own.slice(0, Math.min(cutTo, room))),
        ...shape.after,
      ];
      if (!ids.every(isId)) throw new Error('a token has no id');
      return ids.length > maxTokens ? ids.length : ids;
    });
  },
};

/** transformers.js itself would take 50 ms of a processor to evaluate, and is not needed here. */
async function readTokenizer(files: ReadonlyMap<string, Blob>): Promise<PlainTokenizer> {
  const read = async (name: string): Promise<object> => JSON.parse((await files.get(name)?.text()) ?? '');
  const tokenizer = new Tokenizer(await read('tokenizer.json'), await read('tokenizer_config.json'));
  const added = [...tokenizer.get_added_tokens_decoder().values()];
  return {
    all_special_ids: added.flatMap(({ id, special }) => (special ? [id] : [])),
    unk_token_id: tokenizer.model?.unk_token_id ?? -1,
    get_vocab: () => tokenizer.get_vocab(),
    encode: (text, options) => tokenizer.encode(text, options).ids,
  };
}

/** Whether it is an unsigned 32-bit integer: the runtime would count a negative id from the vocabulary's end. */
const isId = (id: number): boolean => id >>> 0 === id;

/** Derives the special tokens from a text of one token, which also detects some broken tokenizers. */
function shapeOf(tokenizer: PlainTokenizer): TokenizerShape {
  const bare = tokenizer.encode('a', { add_special_tokens: false });
  const full = tokenizer.encode('a');
  if (!full.every(isId)) throw new Error('a token has no id');
  const at = full.indexOf(bare[0] ?? -1);
  return {
    before: full.slice(0, at),
    after: full.slice(at + bare.length),
    vocabularySize: tokenizer.get_vocab().size,
  };
}

async function findFault(files: ReadonlyMap<string, Blob>): Promise<FileFault> {
  for (const [file, blob] of files) {
    try {
      if (!isObject(JSON.parse(await blob.text()))) return { file, fault: 'is not a JSON object' };
    } catch {
      return { file, fault: 'is not JSON, or cut short' };
    }
  }
  return { file: 'tokenizer.json', fault: 'is not a tokenizer that transformers.js can use' };
}
