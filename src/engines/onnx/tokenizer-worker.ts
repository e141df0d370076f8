import { AutoTokenizer, type PreTrainedTokenizer } from '@huggingface/transformers';

import { messageOf } from '#base';
import { serveFiles } from './serve-files.ts';
import type { TokenizedText } from './transformers-engine.ts';
import { parseObject } from './transformers-files.ts';

export interface TokenizerFacts {
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

let loaded: PreTrainedTokenizer | null = null;

/** Tokenizes for one model in a worker that can be terminated: regular expressions in a tokenizer's file may run forever. */
export const tokenizerWorker = {
  /** @param files by name */
  async load(model: string, files: ReadonlyMap<string, Blob>): Promise<TokenizerFacts | FileFault> {
    serveFiles(model, async (name) => files.get(name) ?? null);
    try {
      loaded = await AutoTokenizer.from_pretrained(model);
      return factsOf(loaded);
    } catch (error) {
      console.error('localtext: a tokenizer was not loaded', error);
      return { ...(await findFault(files)), cause: messageOf(error) };
    }
  },

  /** @param maxTokens maximum number of tokens per text */
  async tokenize(texts: readonly string[], maxTokens: number): Promise<TokenizedText[]> {
    const tokenizer = loaded;
    if (!tokenizer) throw new Error('no tokenizer is loaded');
    return texts.map((text) => {
      const ids = encode(tokenizer, text);
      return ids.length > maxTokens ? ids.length : ids;
    });
  },
};

/** Derives the special tokens from a text of one token, which also detects some broken tokenizers. */
function factsOf(tokenizer: PreTrainedTokenizer): TokenizerFacts {
  const bare = tokenizer.encode('a', { add_special_tokens: false });
  const full = encode(tokenizer, 'a');
  const at = full.indexOf(bare[0] ?? -1);
  return {
    before: full.slice(0, at),
    after: full.slice(at + bare.length),
    vocabularySize: tokenizer.get_vocab().size,
  };
}

function encode(tokenizer: PreTrainedTokenizer, text: string): number[] {
  const ids = tokenizer.encode(text);
  if (!ids.every(Number.isInteger)) throw new Error('a token has no id');
  return ids;
}

async function findFault(files: ReadonlyMap<string, Blob>): Promise<FileFault> {
  for (const [file, blob] of files) {
    const { fault } = parseObject(await blob.text());
    if (fault !== undefined) return { file, fault };
  }
  return { file: 'tokenizer.json', fault: 'is not a tokenizer that transformers.js can use' };
}
