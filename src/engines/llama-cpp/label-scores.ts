import type { LabelScores } from '../engine.ts';
import type { Chunk, LlamaTimings } from './completion-format.ts';

/** Added to the logits of the labels' tokens: all other tokens come after them. */
const BIAS = 100;

/** Log probability of a token whose probability is too small for llama.cpp's numbers. */
const LEAST = -100;

/** Runs one request that is not streamed, for the prompt and `after`. */
export type CompleteWhole = (after: string, fields: Record<string, unknown>) => Promise<Chunk[]>;

/**
 * Scores each label by the log probabilities of all its tokens. The first tokens of all labels are read in one step, and each
 * further token takes one: llama.cpp continues from the cached state of the prompt.
 * @param labels one for each different text
 */
export async function scoreLabels(complete: CompleteWhole, labels: readonly string[]): Promise<LabelScores> {
  const words = [...new Set(labels.map(firstWord))];
  const read = await complete('', {
    ...BEGIN,
    samplers: [],
    post_sampling_probs: true,
    n_probs: words.reduce((sum, word) => sum + encoder.encode(word).length, 1),
    logit_bias: words.map((word) => [word, BIAS]),
  });
  const { cache_n: cachedTokens = 0, prompt_n: computed = 0 } =
    read.at(-1)?.timings ?? ({} as Partial<LlamaTimings>);
  const tokens = (tokensOf(read)[0]?.top_probs ?? []).map(({ token, bytes, prob }) => ({
    bytes: bytes ?? [...encoder.encode(token)],
    // Of the labels' tokens alone, whose sum is the same for all labels.
    logprob: Math.max(LEAST, Math.log(prob)),
  }));
  const firsts = labels.map((label) => longestStart(tokens, encoder.encode(label)));
  const isComplete = firsts.every((first) => first !== undefined);
  const logProbabilities: number[] = [];
  for (const [index, label] of labels.entries()) {
    const first = isComplete ? firsts[index] : undefined;
    const rest = await scoreRest(complete, label, first?.bytes.length ?? 0);
    logProbabilities.push((first?.logprob ?? 0) + rest);
  }
  return { logProbabilities, promptTokens: cachedTokens + computed, cachedTokens };
}

const BEGIN = { stream: false, cache_prompt: true, timings_per_token: true, n_predict: 1 };

const encoder = new TextEncoder();

/** The first token of a label is no longer. */
const firstWord = (label: string): string => /^\s*\S*/.exec(label)?.[0] ?? label;

const tokensOf = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) => chunk.choices?.[0]?.logprobs?.content ?? []);

function longestStart<T extends { bytes: readonly number[] }>(
  tokens: readonly T[],
  label: Uint8Array,
): T | undefined {
  return tokens
    .filter(({ bytes }) => bytes.length > 0 && bytes.every((byte, at) => byte === label[at]))
    .toSorted((a, b) => b.bytes.length - a.bytes.length)[0];
}

/**
 * Log probability of a label's bytes from `at` on, one token after another.
 * @throws Error when the tokens are not those of the label
 */
async function scoreRest(complete: CompleteWhole, label: string, at: number): Promise<number> {
  const bytes = encoder.encode(label);
  let sum = 0;
  while (at < bytes.length) {
    // A token may end inside a character, which a prompt cannot.
    let start = at;
    while (start > 0 && isInside(bytes[start])) start--;
    const rest = decoder.decode(bytes.subarray(start));
    const forced = await complete(decoder.decode(bytes.subarray(0, start)), {
      ...BEGIN,
      n_predict: at - start + 1,
      n_probs: 1,
      temperature: 0,
      grammar: `root ::= ${literal(rest)}`,
      logit_bias: [[firstWord(rest), BIAS]],
    });
    const before = at;
    let end = start;
    for (const { token, bytes: own, logprob } of tokensOf(forced)) {
      end += (own ?? encoder.encode(token)).length;
      if (end <= at) continue;
      sum += Math.max(LEAST, logprob);
      at = end;
      break;
    }
    if (at === before || at > bytes.length)
      throw new Error('the engine generated something other than the label');
  }
  return sum;
}

/** A text may begin with a byte order mark. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Continuation bytes of UTF-8. */
const isInside = (byte = 0): boolean => (byte & 0xc0) === 0x80;

/** A text as a literal of llama.cpp's grammars. */
function literal(text: string): string {
  const escaped = Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (character === '"' || character === '\\') return `\\${character}`;
    return code < 0x20 || code === 0x7f ? `\\x${code.toString(16).padStart(2, '0')}` : character;
  });
  return `"${escaped.join('')}"`;
}
