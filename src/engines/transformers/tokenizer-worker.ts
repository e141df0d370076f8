import { AutoTokenizer, type PreTrainedTokenizer } from '@huggingface/transformers';

import { isObject, messageOf } from '#base';
import { type PlainEncoder, plainEncoder } from './plain-encoder.ts';
import { serveFiles } from './configure.ts';
import type { TokenizedText } from './transformers-engine.ts';

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

let loaded: { encode: PlainEncoder; shape: TokenizerShape } | null = null;

/** Tokenizes for one model in a worker that can be terminated: regular expressions in a tokenizer's file may run forever. */
export const tokenizerWorker = {
  /** @param files by name */
  async load(model: string, files: ReadonlyMap<string, Blob>): Promise<TokenizerShape | FileFault> {
    serveFiles(model, async (name) => files.get(name) ?? null);
    try {
      const tokenizer = await AutoTokenizer.from_pretrained(model);
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
      if (!ids.every(Number.isInteger)) throw new Error('a token has no id');
      return ids.length > maxTokens ? ids.length : ids;
    });
  },
};

/** Derives the special tokens from a text of one token, which also detects some broken tokenizers. */
function shapeOf(tokenizer: PreTrainedTokenizer): TokenizerShape {
  const bare = tokenizer.encode('a', { add_special_tokens: false });
  const full = tokenizer.encode('a');
  if (!full.every(Number.isInteger)) throw new Error('a token has no id');
  const at = full.indexOf(bare[0] ?? -1);
  return {
    before: full.slice(0, at),
    after: full.slice(at + bare.length),
    vocabularySize: tokenizer.get_vocab().size,
  };
}

async function findFault(files: ReadonlyMap<string, Blob>): Promise<FileFault> {
  for (const [file, blob] of files) {
    const fault = objectFault(await blob.text());
    if (fault !== undefined) return { file, fault };
  }
  return { file: 'tokenizer.json', fault: 'is not a tokenizer that transformers.js can use' };
}

function objectFault(text: string): string | undefined {
  try {
    return isObject(JSON.parse(text)) ? undefined : 'is not a JSON object';
  } catch {
    return 'is not JSON, or cut short';
  }
}
