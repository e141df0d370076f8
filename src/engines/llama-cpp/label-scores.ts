import { literal } from '../../util/gbnf.ts';
import type { LabelScores } from '../engine.ts';
import { type Chunk, type LlamaTimings, tokenIds, tokensRequest } from './completion-format.ts';
import { RequestRejectedError } from './internals/server-calls.ts';

/** Added to the logits of the labels' tokens: all other tokens come after them. */
const BIAS = 100;

/** Log probability of a token whose probability is too small for llama.cpp's numbers. */
const LEAST = -100;

/** Tokens of a label that count after no other continues as it does, and those of all labels together. */
const MAX_TAIL = 8;
const MAX_TAILS = 64;

/** Steps to read where the labels of a question part, those nearest to their beginnings first. */
const MAX_STEPS = 128;

/** Texts whose tokens are kept. */
const MAX_KNOWN = 4096;

/** Characters of a label in a grammar. No token is longer. */
const MAX_TOKEN = 32;

/** llama.cpp's refusal where no token continues a text: the vocabulary lacks one of its characters. */
const NOT_SPELLED = /empty grammar stack/;

/** Text whose token stands for the end of a label that another one continues. */
const END = '\n';

/** End of the prompt. It stands before a text that is divided into tokens: some vocabularies put a space before a text. */
const BEFORE = ':';

/** Runs one request that is not streamed, for the prompt and `after`. */
export type CompleteWhole = (after: string, fields: Record<string, unknown>) => Promise<Chunk[]>;

type Ids = readonly number[];

interface Label {
  index: number;
  text: string;
  ids: Ids;
}

/** Labels that have the same tokens up to `at`, where they part. */
interface Node {
  at: number;
  labels: Label[];
  /** Groups by the next token; undefined: labels that end. */
  branches: (readonly [id: number | undefined, labels: Label[]])[];
}

/** Beginning of a step: after a text, and tokens that are generated again, as no prompt can end inside a character. */
interface Place {
  after: string;
  /** Number of tokens that the text has. */
  length: number;
  again: Ids;
}

const AT_PROMPT: Place = { after: '', length: 0, again: [] };

/** Scores labels by the probabilities of their tokens, as the tokenizer divides them. One for each model. */
export class LabelScorer {
  readonly #known = new Map<string, Ids>();

  /**
   * Scores each label by its log probability. Where labels part, one step reads the next tokens of all. Where no other
   * continues as a label does, few of its further tokens count, however long it is. A label that is given twice has the
   * same score twice.
   */
  async score(complete: CompleteWhole, given: readonly string[]): Promise<LabelScores> {
    const reader = new Reader(complete);
    // llama.cpp generates no token that begins with a zero byte.
    const own = given.map((label) => label.replaceAll('\0', '\uFFFD'));
    // Sorted, so that their order cannot matter where the steps end.
    const texts = [...new Set(own)].toSorted();
    const tokens = await this.#tokensOf(reader, texts);
    const labels = texts.map((text, index) => ({ index, text, ids: tokens[index] ?? [] }));
    const logProbabilities = texts.map(() => 0);
    const add = (members: readonly Label[], score: number): void => {
      for (const { index } of members) logProbabilities[index] = (logProbabilities[index] ?? 0) + score;
    };
    const nodes = nodesOf(labels, 0)
      .toSorted((a, b) => a.at - b.at)
      .map((node) => ({ ...node, starts: startsOf(node) }));
    // One request for all of them.
    const startTokens = await this.#tokensOf(
      reader,
      nodes.flatMap(({ starts }) => starts),
    );
    // A single label needs no step, but the prompt is to be counted.
    if (nodes.length === 0) await reader.divide([END]);
    const most = Math.min(MAX_TAIL, Math.floor(MAX_TAILS / texts.length));
    const end = this.#known.get(END)?.at(-1) ?? 0;
    let left = MAX_STEPS;
    for (const node of nodes) {
      const { at, branches, starts } = node;
      const place = placeOf(node, starts, startTokens.splice(0, starts.length));
      const next = branches.map(([id]) => id ?? end);
      left -= 1 + place.again.length;
      const read = left < 0 ? null : await reader.read(place, next, node.labels);
      // Labels that part later, or behind a character that cannot be spelled, have equal shares.
      const scores = read ?? next.map(() => 0);
      const total = logSum(scores);
      for (const [branch, [id, members]] of branches.entries()) {
        add(members, (scores[branch] ?? LEAST) - total);
        const [alone, ...others] = members;
        if (id === undefined || !alone || others.length > 0 || !read) continue;
        const tail = alone.ids.slice(at + 1, at + 1 + Math.max(0, most - place.again.length));
        add(members, await reader.follow({ ...place, again: [...place.again, id] }, tail, alone));
      }
    }
    return {
      logProbabilities: own.map((label) => logProbabilities[texts.indexOf(label)] ?? 0),
      ...reader.promptTokens,
    };
  }

  /** Tokens of texts that follow the prompt. */
  async #tokensOf(reader: Reader, texts: readonly string[]): Promise<Ids[]> {
    if (this.#known.size > MAX_KNOWN) this.#known.clear();
    const keys = texts.map((text) => BEFORE + text);
    const missing = [...new Set([END, BEFORE, ...keys])].filter((key) => !this.#known.has(key));
    const divided = missing.length > 0 ? await reader.divide(missing) : [];
    for (const [index, key] of missing.entries()) this.#known.set(key, divided[index] ?? []);
    const before = this.#known.get(BEFORE) ?? [];
    return keys.map((key) => {
      const ids = this.#known.get(key) ?? [];
      return begins(ids, before) ? ids.slice(before.length) : ids;
    });
  }
}

const BEGIN = { stream: false, cache_prompt: true, timings_per_token: true };

/** Requests for one prompt. */
class Reader {
  readonly #complete: CompleteWhole;
  #promptTokens: Pick<LabelScores, 'promptTokens' | 'cachedTokens'> | undefined;

  constructor(complete: CompleteWhole) {
    this.#complete = complete;
  }

  /** Counts of the first request, which computes the prompt. */
  get promptTokens(): Pick<LabelScores, 'promptTokens' | 'cachedTokens'> {
    return this.#promptTokens ?? { promptTokens: 0, cachedTokens: 0 };
  }

  async divide(texts: readonly string[]): Promise<Ids[]> {
    const { prompt: _, ...fields } = tokensRequest(texts);
    const ids = tokenIds((await this.#run(AT_PROMPT, fields)).at(-1) ?? {});
    if (texts.some((__, index) => !ids[index])) throw new Error('the tokens of the labels were not told');
    return ids;
  }

  /**
   * Log probabilities of the next tokens of these labels, in one step. Those of all other tokens are left out. Null: the
   * vocabulary lacks a character before them.
   */
  async read(place: Place, next: Ids, labels: readonly Label[]): Promise<number[] | null> {
    const { again } = place;
    const tokens = [...new Set([...again, ...next])];
    const chunks = await this.#spell(place, {
      n_predict: again.length + 1,
      ...(again.length > 0 && {
        grammar: grammarOf(
          place,
          labels.map(({ text }) => text + END),
          MAX_TOKEN,
        ),
      }),
      samplers: [],
      post_sampling_probs: true,
      n_probs: tokens.length,
      logit_bias: tokens.map((id) => [id, BIAS]),
    });
    if (!chunks) return null;
    const top = tokensOf(chunks)[again.length]?.top_probs ?? [];
    return next.map((token) => Math.max(LEAST, Math.log(top.find(({ id }) => id === token)?.prob ?? 0)));
  }

  /**
   * Log probability of a label's next tokens, one after another; 0 where the vocabulary lacks one of its characters.
   * @throws Error where fewer were generated
   */
  async follow(place: Place, next: Ids, label: Label): Promise<number> {
    if (next.length === 0) return 0;
    const tokens = [...place.again, ...next];
    const chunks = await this.#spell(place, {
      n_predict: tokens.length,
      grammar: grammarOf(place, [label.text]),
      logit_bias: [...new Set(tokens)].map((id) => [id, BIAS]),
      n_probs: 1,
      temperature: 0,
    });
    if (!chunks) return 0;
    const generated = tokensOf(chunks).slice(place.again.length);
    if (generated.length < next.length)
      throw new Error('the engine generated something other than the label');
    return generated.reduce((sum, { logprob }) => sum + Math.max(LEAST, logprob), 0);
  }

  /** Null: the vocabulary has no tokens for the text. */
  #spell(place: Place, fields: Record<string, unknown>): Promise<Chunk[] | null> {
    return this.#run(place, fields).catch((error: unknown) => {
      if (error instanceof RequestRejectedError && NOT_SPELLED.test(error.message)) return null;
      throw error;
    });
  }

  async #run({ after, length }: Place, fields: Record<string, unknown>): Promise<Chunk[]> {
    const chunks = await this.#complete(after, { ...BEGIN, ...fields });
    const { cache_n: found = 0, prompt_n: computed = 0 }: Partial<LlamaTimings> =
      chunks.at(-1)?.timings ?? {};
    const promptTokens = found + computed - length;
    this.#promptTokens ??= { promptTokens, cachedTokens: Math.min(found, promptTokens) };
    return chunks;
  }
}

/** Allows the rest of one of the texts after a place. */
function grammarOf({ after }: Place, texts: readonly string[], most = Infinity): string {
  const rests = texts.map((text) => Array.from(text.slice(after.length)).slice(0, most).join(''));
  return `root ::= ${[...new Set(rests.map(literal))].join(' | ')}`;
}

const tokensOf = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) => chunk.choices?.[0]?.logprobs?.content ?? []);

/** The nodes of a tree of labels. */
function nodesOf(labels: Label[], from: number): Node[] {
  const [first, ...others] = labels;
  if (!first || others.length === 0) return [];
  let at = from;
  while (others.every(({ ids }) => at < ids.length && ids[at] === first.ids[at])) at++;
  const branches = new Map<number | undefined, Label[]>();
  for (const label of labels) branches.set(label.ids[at], [...(branches.get(label.ids[at]) ?? []), label]);
  const further = [...branches].flatMap(([id, own]) => (id === undefined ? [] : nodesOf(own, at + 1)));
  return [{ at, labels, branches: [...branches] }, ...further];
}

/** Finds what a node's labels begin with: whole, without its last characters, and without its last word. */
function startsOf({ at, labels }: Node): string[] {
  if (at === 0) return [];
  const [first = [], ...others] = labels.map(({ text }) => Array.from(text));
  let shared = 0;
  while (shared < first.length && others.every((other) => other[shared] === first[shared])) shared++;
  const starts = [0, 1, 2, 3].map((less) => first.slice(0, Math.max(0, shared - less)).join(''));
  return [...new Set([...starts, starts[0]?.replace(/\s*\S*$/u, '') ?? ''])].filter(Boolean);
}

/** The longest of these starts whose tokens are the labels' own. */
function placeOf({ at, labels }: Node, starts: readonly string[], tokens: readonly Ids[]): Place {
  const ids = labels[0]?.ids.slice(0, at) ?? [];
  const places = starts.flatMap((after, index) => {
    const own = tokens[index] ?? [];
    return begins(ids, own) ? [{ after, length: own.length, again: ids.slice(own.length) }] : [];
  });
  return places.reduce((best, place) => (place.length > best.length ? place : best), {
    ...AT_PROMPT,
    again: ids,
  });
}

const begins = (ids: Ids, start: Ids): boolean => start.every((id, at) => id === ids[at]);

function logSum(logs: readonly number[]): number {
  const highest = Math.max(...logs);
  return highest + Math.log(logs.reduce((sum, each) => sum + Math.exp(each - highest), 0));
}
