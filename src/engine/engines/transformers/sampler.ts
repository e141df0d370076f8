import type { Sampling, TokenLogprob } from '../../../protocol/job.ts';

/**
 * Chooses tokens as OpenAI's parameters say. transformers.js has no `top_p`, seeds or log probabilities, and neither of
 * OpenAI's penalties.
 */
export class Sampler {
  readonly #sampling: Sampling;
  readonly #seed: readonly [number, number];
  /** How often each token is in the reply. */
  readonly #counts = new Map<number, number>();
  #position = 0;

  /** @param before tokens of the reply that are there already: a reply that is continued draws on */
  constructor(sampling: Sampling, before: readonly number[] = []) {
    this.#sampling = sampling;
    const { seed } = sampling;
    const [low = 0, high = 0] =
      seed === undefined ? crypto.getRandomValues(new Uint32Array(2)) : [seed, seed / 2 ** 32];
    this.#seed = [low >>> 0, Math.floor(high) >>> 0];
    for (const id of before) this.#count(id);
  }

  /** @returns the token's id; -1 when the logits are no numbers, as of a broken kernel */
  next(logits: Float32Array): number {
    const scores = this.#adjusted(logits);
    const { temperature, topP } = this.#sampling;
    const best = argmax(scores);
    const at = this.#position;
    const id =
      best < 0 || temperature === 0 ? best : draw(scores, best, temperature, topP, uniform(this.#seed, at));
    if (id >= 0) this.#count(id);
    return id;
  }

  #count(id: number): void {
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    this.#position++;
  }

  #adjusted(logits: Float32Array): Float32Array {
    const { logitBias, presencePenalty = 0, frequencyPenalty = 0 } = this.#sampling;
    const penalised = presencePenalty !== 0 || frequencyPenalty !== 0;
    if (!logitBias && !penalised) return logits;
    const scores = logits.slice();
    const add = (id: number, value: number) => (scores[id] = (scores[id] ?? 0) + value);
    if (penalised) {
      for (const [id, count] of this.#counts) add(id, -presencePenalty - frequencyPenalty * count);
    }
    for (const [id, bias] of Object.entries(logitBias ?? {})) add(Number(id), bias);
    return scores;
  }
}

/** Of the model's own distribution, before temperature, penalties and bias. */
export function logprobOf(
  logits: Float32Array,
  id: number,
  alternatives: number,
  text: (id: number) => string,
): TokenLogprob {
  const largest = logits[argmax(logits)] ?? 0;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - largest);
  const norm = largest + Math.log(sum);
  const one = (token: number) => {
    const said = text(token);
    // A token that is part of a character has no text.
    const bytes = said.includes('\uFFFD') ? null : [...new TextEncoder().encode(said)];
    return { token: said, logprob: Math.max(MIN_LOGPROB, (logits[token] ?? -Infinity) - norm), bytes };
  };
  return { ...one(id), top: largestOf(logits, alternatives).map(one) };
}

/** JSON has no -Infinity: what OpenAI gives for a token of no probability. */
const MIN_LOGPROB = -9999;

function largestOf(logits: Float32Array, count: number): number[] {
  const found: number[] = [];
  if (count === 0) return found;
  const of = (id: number | undefined): number => (id === undefined ? -Infinity : (logits[id] ?? -Infinity));
  for (let id = 0; id < logits.length; id++) {
    if (found.length === count && of(id) <= of(found.at(-1))) continue;
    const place = found.findIndex((other) => of(other) < of(id));
    found.splice(place < 0 ? found.length : place, 0, id);
    if (found.length > count) found.pop();
  }
  return found;
}

function argmax(scores: Float32Array): number {
  let best = -1;
  let largest = -Infinity;
  for (let id = 0; id < scores.length; id++) {
    const score = scores[id] ?? Number.NaN;
    if (score > largest) {
      largest = score;
      best = id;
    }
  }
  return best;
}

/** The tokens of the smallest set whose probabilities sum up to `topP`, and of them the one that `random` falls on. */
function draw(scores: Float32Array, best: number, temperature: number, topP: number, random: number): number {
  const largest = scores[best] ?? 0;
  const weights = scores.map((score) => Math.exp((score - largest) / temperature));
  let total = 0;
  for (const weight of weights) total += weight || 0;
  const ids = topP < 1 ? nucleus(weights, topP, total) : Array.from(weights.keys());
  let mass = 0;
  for (const id of ids) mass += weights[id] || 0;
  let rest = random * mass;
  for (const id of ids) {
    rest -= weights[id] || 0;
    if (rest < 0) return id;
  }
  return best;
}

function nucleus(weights: Float32Array, topP: number, total: number): number[] {
  const of = (id: number): number => weights[id] ?? 0;
  // What is smaller than an even share of the rest is in no such set: most need not be sorted.
  const least = ((1 - topP) * total) / weights.length;
  const candidates = Array.from(weights.keys()).filter((id) => of(id) >= least);
  candidates.sort((a, b) => of(b) - of(a));
  let mass = 0;
  const enough = candidates.findIndex((id) => (mass += of(id)) >= topP * total);
  return enough < 0 ? candidates : candidates.slice(0, enough + 1);
}

/**
 * A number in [0, 1) for each place in a reply, the same for the same seed: so a reply that another engine had begun
 * continues as it would have continued there. The mixing function is the finalizer of MurmurHash3 (Appleby).
 */
function uniform([low, high]: readonly [number, number], position: number): number {
  let hash = mix(low ^ 0x9e3779b9);
  hash = mix(hash ^ high);
  hash = mix(hash ^ position);
  return (mix(hash + 0x6d2b79f5) >>> 0) / 2 ** 32;
}

function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
