import { literal } from '#base';
import type { LabelScores } from '#engine-kit';
import { POLICY } from '#scheduling';
import { type Chunk, type LlamaTimings, RequestRejectedError } from '#llama';
import { numberOf, tokenIds, tokensRequest } from './completion-format.ts';

/** Added to the logits of the labels' tokens, so that they rank above all other tokens. */
const BIAS = 100;

/** Log probability of a token whose probability underflows in llama.cpp. */
const LEAST = -100;

/** Maximum number of tokens scored after a label diverges from all others: for one label, and for all labels together. */
const { optionTail: MAX_TAIL, optionTails: MAX_TAILS } = POLICY.work;

/** Maximum number of steps that score diverging labels. The earliest divergences come first. */
const MAX_STEPS = 128;

/** Maximum number of texts whose tokens are cached. */
const MAX_KNOWN = 4096;

/** Maximum number of a label's characters in a grammar. No token is longer. */
const MAX_TOKEN = 32;

/** llama.cpp's error if no token continues a text: the vocabulary lacks one of its characters. */
const NOT_SPELLED = /empty grammar stack/;

/** Text whose token stands for the end of a label that is a prefix of another label. */
const END = '\n';

/** Stands for the prompt's end before a text to tokenize: some vocabularies add a space at the start of a text. */
const BEFORE = ':';

/** Runs one request, without streaming, for the prompt followed by `after`. */
export type CompleteWhole = (after: string, fields: Record<string, unknown>) => Promise<Chunk[]>;

type Ids = readonly number[];

interface Label {
  index: number;
  text: string;
  ids: Ids;
}

/** Labels that share their tokens up to `at`, where they diverge. */
interface Node {
  at: number;
  labels: Label[];
  /** Labels grouped by their next token; undefined for labels that end. */
  branches: (readonly [id: number | undefined, labels: Label[]])[];
}

/** Start of a step: a text, then tokens that are generated again, as no prompt can end inside a character. */
interface Place {
  after: string;
  /** Number of tokens of the text. */
  length: number;
  repeated: Ids;
}

const AT_PROMPT: Place = { after: '', length: 0, repeated: [] };

/** Scores labels by the probabilities of their tokens. One instance per model. */
export class LabelScorer {
  readonly #known = new Map<string, Ids>();

  /**
   * Scores each label by its log probability. Where labels diverge, one step reads the next tokens of all. Once
   * a label has diverged from all others, only a few of its remaining tokens count, however long it is.
   * Duplicate labels get equal scores.
   */
  async score(complete: CompleteWhole, requested: readonly string[]): Promise<LabelScores> {
    const reader = new Reader(complete);
    // llama.cpp generates no token that begins with a zero byte.
    const spelled = requested.map((label) => label.replaceAll('\0', '\uFFFD'));
    // Sorted, so that the request's order does not decide which labels exceed `MAX_STEPS`.
    const texts = [...new Set(spelled)].toSorted();
    const tokens = await this.#tokensOf(reader, texts);
    const labels = texts.map((text, index) => ({ index, text, ids: tokens[index] ?? [] }));
    const logProbabilities = texts.map(() => 0);
    const add = (members: readonly Label[], score: number): void => {
      for (const { index } of members) logProbabilities[index] = (logProbabilities[index] ?? 0) + score;
    };
    const nodes = nodesOf(labels, 0)
      .toSorted((a, b) => a.at - b.at)
      .map((node) => ({ ...node, starts: startsOf(node) }));
    // One request tokenizes all starts.
    const startTokens = await this.#tokensOf(
      reader,
      nodes.flatMap(({ starts }) => starts),
    );
    // A single label needs no step. This request counts the prompt.
    if (nodes.length === 0) await reader.divide([END]);
    const maxTail = Math.min(MAX_TAIL, Math.floor(MAX_TAILS / texts.length));
    const end = this.#known.get(END)?.at(-1) ?? 0;
    let stepsLeft = MAX_STEPS;
    for (const node of nodes) {
      const { at, branches, starts } = node;
      const place = placeOf(node, starts, startTokens.splice(0, starts.length));
      const next = branches.map(([id]) => id ?? end);
      stepsLeft -= 1 + place.repeated.length;
      const read = stepsLeft < 0 ? null : await reader.read(place, next, node.labels);
      // Divergences past `MAX_STEPS`, or after a character that the vocabulary lacks, count as equally probable.
      const scores = read ?? next.map(() => 0);
      const total = logSum(scores);
      for (const [branch, [id, members]] of branches.entries()) {
        add(members, (scores[branch] ?? LEAST) - total);
        const [alone, ...others] = members;
        if (id === undefined || !alone || others.length > 0 || !read) continue;
        const tail = alone.ids.slice(at + 1, at + 1 + Math.max(0, maxTail - place.repeated.length));
        add(members, await reader.follow({ ...place, repeated: [...place.repeated, id] }, tail, alone));
      }
    }
    return {
      logProbabilities: spelled.map((label) => logProbabilities[texts.indexOf(label)] ?? 0),
      ...reader.promptTokens,
      labelTokens: reader.labelTokens,
    };
  }

  /** Tokenizes texts that follow the prompt. */
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

/** Sends the requests for one prompt. */
class Reader {
  readonly #complete: CompleteWhole;
  #promptTokens: Pick<LabelScores, 'promptTokens' | 'cachedTokens'> | undefined;
  /** Tokens computed after the first request. */
  labelTokens = 0;

  constructor(complete: CompleteWhole) {
    this.#complete = complete;
  }

  /** Token counts of the first request, which computes the prompt. */
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
   * Reads the log probabilities of the labels' next tokens in one step; no other token gets a share. Null if the
   * vocabulary lacks a character before them.
   */
  async read(place: Place, next: Ids, labels: readonly Label[]): Promise<number[] | null> {
    const { repeated } = place;
    const tokens = [...new Set([...repeated, ...next])];
    const texts = labels.map(({ text }) => text + END);
    const chunks = await this.#spell(place, {
      n_predict: repeated.length + 1,
      ...(repeated.length > 0 && { grammar: grammarOf(place, texts, MAX_TOKEN) }),
      samplers: [],
      post_sampling_probs: true,
      n_probs: tokens.length,
      logit_bias: tokens.map((id) => [id, BIAS]),
    });
    if (!chunks) return null;
    const top = tokensOf(chunks)[repeated.length]?.top_probs ?? [];
    return next.map((token) => {
      const scored = top.find(({ id }) => id === token);
      return Math.max(LEAST, Math.log(scored ? numberOf(scored.prob) : 0));
    });
  }

  /**
   * Sums the log probabilities of a label's next tokens; 0 if the vocabulary lacks one of its characters.
   * @throws Error if the engine generates fewer tokens
   */
  async follow(place: Place, next: Ids, label: Label): Promise<number> {
    if (next.length === 0) return 0;
    const tokens = [...place.repeated, ...next];
    const chunks = await this.#spell(place, {
      n_predict: tokens.length,
      grammar: grammarOf(place, [label.text]),
      logit_bias: [...new Set(tokens)].map((id) => [id, BIAS]),
      n_probs: 1,
      temperature: 0,
    });
    if (!chunks) return 0;
    const generated = tokensOf(chunks).slice(place.repeated.length);
    if (generated.length < next.length)
      throw new Error('the engine generated something other than the label');
    return generated.reduce((sum, { logprob }) => sum + Math.max(LEAST, numberOf(logprob)), 0);
  }

  /** Runs a constrained request. Null if the vocabulary has no tokens for the text. */
  #spell(place: Place, fields: Record<string, unknown>): Promise<Chunk[] | null> {
    return this.#run(place, fields).catch((error: unknown) => {
      if (error instanceof RequestRejectedError && NOT_SPELLED.test(error.message)) return null;
      throw error;
    });
  }

  async #run({ after, length }: Place, fields: Record<string, unknown>): Promise<Chunk[]> {
    const chunks = await this.#complete(after, { ...BEGIN, ...fields });
    const timings: Partial<LlamaTimings> = chunks.at(-1)?.timings ?? {};
    const { cache_n: found = 0, prompt_n: computed = 0, predicted_n: generated = 0 } = timings;
    const promptTokens = found + computed - length;
    if (this.#promptTokens) this.labelTokens += computed;
    this.labelTokens += generated;
    this.#promptTokens ??= { promptTokens, cachedTokens: Math.min(found, promptTokens) };
    return chunks;
  }
}

/** Builds a grammar that allows what follows the place in any of the texts. */
function grammarOf({ after }: Place, texts: readonly string[], most = Infinity): string {
  const rests = texts.map((text) => Array.from(text.slice(after.length)).slice(0, most).join(''));
  return `root ::= ${[...new Set(rests.map(literal))].join(' | ')}`;
}

const tokensOf = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) => chunk.choices?.[0]?.logprobs?.content ?? []);

/** Lists the nodes at which labels diverge, in the prefix tree of their tokens. */
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

/** Lists the common prefix of a node's labels: whole, less its last 1 to 3 characters, and less its last word. */
function startsOf({ at, labels }: Node): string[] {
  if (at === 0) return [];
  const [first = [], ...others] = labels.map(({ text }) => Array.from(text));
  let shared = 0;
  while (shared < first.length && others.every((other) => other[shared] === first[shared])) shared++;
  const starts = [0, 1, 2, 3].map((cut) => first.slice(0, Math.max(0, shared - cut)).join(''));
  return [...new Set([...starts, starts[0]?.replace(/\s*\S*$/u, '') ?? ''])].filter(Boolean);
}

/** Picks the longest start whose tokens are also the labels' first tokens. */
function placeOf({ at, labels }: Node, starts: readonly string[], tokens: readonly Ids[]): Place {
  const ids = labels[0]?.ids.slice(0, at) ?? [];
  const places = starts.flatMap((after, index) => {
    const own = tokens[index] ?? [];
    return begins(ids, own) ? [{ after, length: own.length, repeated: ids.slice(own.length) }] : [];
  });
  return places.reduce((best, place) => (place.length > best.length ? place : best), {
    ...AT_PROMPT,
    repeated: ids,
  });
}

const begins = (ids: Ids, start: Ids): boolean => start.every((id, at) => id === ids[at]);

function logSum(logs: readonly number[]): number {
  const highest = Math.max(...logs);
  return highest + Math.log(logs.reduce((sum, each) => sum + Math.exp(each - highest), 0));
}
