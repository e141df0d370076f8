import { literal } from '../../util/gbnf.ts';
import type { LabelScores } from '../engine.ts';
import type { Chunk, LlamaTimings } from './completion-format.ts';

/** Added to the logits of the labels' tokens: all other tokens come after them. */
const BIAS = 100;

/** Log probability of a token whose probability is too small for llama.cpp's numbers. */
const LEAST = -100;

/** Runs one request that is not streamed, for the prompt and `after`. */
export type CompleteWhole = (after: string, fields: Record<string, unknown>) => Promise<Chunk[]>;

/** Stands for the end of a label that another one continues. */
const END = '\n';

/** Letters of a word that are read again, so that its tokens are those of the whole word. */
const MAX_WORD = 16;

/** Tokens of a label that count after no other continues as it does, and those of all labels together. */
const MAX_TAIL = 8;
const MAX_TAILS = 64;

interface Label {
  index: number;
  bytes: Uint8Array;
}

/** Labels that begin with the same bytes, up to `at`. */
interface Group {
  at: number;
  members: Label[];
}

interface Top {
  bytes: readonly number[];
  logprob: number;
}

/**
 * Scores each label by its log probability. Labels that begin alike are read together: one step reads the
 * next tokens of all. Where no other continues as a label does, few of its further tokens count, however long it is.
 * @param labels one for each different text
 */
export async function scoreLabels(complete: CompleteWhole, labels: readonly string[]): Promise<LabelScores> {
  const logProbabilities = labels.map(() => 0);
  const most = Math.min(MAX_TAIL, Math.floor(MAX_TAILS / labels.length));
  const members = labels.map((label, index) => ({ index, bytes: encoder.encode(label) }));
  const root = await readNext(complete, { at: 0, members });
  const add = (shares: readonly (readonly [Label, number])[]): void => {
    for (const [{ index }, share] of shares) logProbabilities[index] = (logProbabilities[index] ?? 0) + share;
  };
  const follow = async (group: Group, tokens: readonly Top[]): Promise<void> => {
    const branches = branch(group, tokens);
    if (!branches) return add(await forceEach(complete, group));
    const total = logSum(branches.map(({ logprob }) => logprob));
    for (const { at, members: own, logprob } of branches) {
      add(own.map((label) => [label, logprob - total]));
      const [alone] = own;
      if (own.length < 2 && alone) {
        add([[alone, await scoreForced(complete, alone.bytes, at, alone.bytes.length, most)]]);
        continue;
      }
      const next = { at: nextStart(own, at), members: own };
      const { tokens: further } = await readNext(complete, next);
      await follow(next, further);
    }
  };
  await follow({ at: 0, members }, root.tokens);
  const { cache_n: cachedTokens = 0, prompt_n: computed = 0 } = root.timings;
  return { logProbabilities, promptTokens: cachedTokens + computed, cachedTokens };
}

/** Reads the first tokens of what is left of each label, in one step. None inside a character, where no prompt can end. */
async function readNext(
  complete: CompleteWhole,
  { at, members }: Group,
): Promise<{ tokens: Top[]; timings: Partial<LlamaTimings> }> {
  const [first] = members;
  if (!first || isInside(first.bytes[at])) return { tokens: [], timings: {} };
  const words = [...new Set(members.map(({ bytes }) => firstWord(restOf(bytes, at))))];
  const read = await complete(decoder.decode(first.bytes.subarray(0, at)), {
    ...BEGIN,
    samplers: [],
    post_sampling_probs: true,
    n_probs: words.reduce((sum, word) => sum + encoder.encode(word).length, 1),
    logit_bias: words.map((word) => [word, BIAS]),
  });
  const tokens = (tokensOf(read)[0]?.top_probs ?? []).map(({ token, bytes, prob }) => ({
    bytes: bytes ?? [...encoder.encode(token)],
    logprob: Math.max(LEAST, Math.log(prob)),
  }));
  return { tokens, timings: read.at(-1)?.timings ?? {} };
}

/** Parts a group by the next token. Undefined where that of a label is unknown. */
function branch({ at, members }: Group, tokens: readonly Top[]): (Group & { logprob: number })[] | undefined {
  const branches = new Map<Top | typeof END, Group & { logprob: number }>();
  for (const label of members) {
    const token = longestStart(tokens, encoder.encode(restOf(label.bytes, at)));
    if (!token) return undefined;
    const key = at === label.bytes.length ? END : token;
    const known = branches.get(key);
    if (known) known.members.push(label);
    else branches.set(key, { at: at + token.bytes.length, members: [label], logprob: token.logprob });
  }
  return [...branches.values()];
}

const restOf = (bytes: Uint8Array, at: number): string => decoder.decode(bytes.subarray(at)) || END;

/** Finds the byte where labels part, or where the word in which they part begins; not before `at`. */
function nextStart(members: readonly Label[], at: number): number {
  const [{ bytes } = { bytes: new Uint8Array() }, ...others] = members;
  let shared = Math.min(bytes.length, ...others.map((other) => sharedBytes(bytes, other.bytes)));
  while (isInside(bytes[shared])) shared--;
  if (shared <= at) return at;
  const [word] = / ?[\p{L}\p{N}]*$/u.exec(decoder.decode(bytes.subarray(0, shared))) ?? [''];
  const start = word.length > MAX_WORD ? shared : Math.max(at, shared - encoder.encode(word).length);
  return isInside(bytes[start]) ? shared : start;
}

function sharedBytes(a: Uint8Array, b: Uint8Array): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

/** Scores each label alone, up to where it differs from every other. */
async function forceEach(
  complete: CompleteWhole,
  { at, members }: Group,
): Promise<(readonly [Label, number])[]> {
  const from = nextStart(members, at);
  const scores: (readonly [Label, number])[] = [];
  for (const label of members) {
    const shared = members.map((other) => (other === label ? 0 : sharedBytes(label.bytes, other.bytes)));
    scores.push([label, await scoreForced(complete, label.bytes, from, Math.max(...shared) + 1, MAX_TAIL)]);
  }
  const total = logSum(scores.map(([, score]) => score));
  return scores.map(([label, score]) => [label, score - total]);
}

function logSum(logs: readonly number[]): number {
  const highest = Math.max(...logs);
  return highest + Math.log(logs.reduce((sum, each) => sum + Math.exp(each - highest), 0));
}

const BEGIN = { stream: false, cache_prompt: true, timings_per_token: true, n_predict: 1 };

const encoder = new TextEncoder();

/** The first token of a label is no longer. */
const firstWord = (label: string): string => /^\s{0,32}\S{0,32}/u.exec(label)?.[0] ?? label;

const tokensOf = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) => chunk.choices?.[0]?.logprobs?.content ?? []);

function longestStart(tokens: readonly Top[], label: Uint8Array): Top | undefined {
  return tokens
    .filter(({ bytes }) => bytes.length > 0 && bytes.every((byte, at) => byte === label[at]))
    .toSorted((a, b) => b.bytes.length - a.bytes.length)[0];
}

/**
 * Log probability of a label's bytes from `at` to `until`, one token after another, at most `most`.
 * @throws Error when the tokens are not those of the label
 */
async function scoreForced(
  complete: CompleteWhole,
  bytes: Uint8Array,
  at: number,
  until: number,
  most: number,
): Promise<number> {
  let sum = 0;
  for (let count = 0; count < most && at < Math.min(until, bytes.length); count++) {
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
