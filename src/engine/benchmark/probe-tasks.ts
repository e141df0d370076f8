import type { ChatJob, TokenLogprob } from '../../protocol/job.ts';
import type { ChatEngine, EmbeddingEngine } from '../engine.ts';

/** Short and long, so that neither launch costs nor arithmetic alone decide. */
const TEXTS = [
  'A lamp.',
  'The weather is lovely today.',
  'A boat lay at the quay while the fog came in over the water, and nobody on board had seen the harbour pilot since noon.',
  'Every text is turned into a vector, and texts that mean alike lie close to each other. '.repeat(2),
];

/** A prompt of some length and some tokens, as both take their time. */
const CHAT: ChatJob = {
  kind: 'chat',
  model: '',
  input: { messages: [{ role: 'user', content: `Go on with this story. ${TEXTS[2] ?? ''}` }] },
  sampling: { temperature: 0, topP: 1 },
  maxTokens: 8,
  topLogprobs: 20,
};

export async function textVectors(engine: EmbeddingEngine, signal: AbortSignal): Promise<Float32Array[]> {
  const { vectors } = await engine.embed({ kind: 'embedding', model: '', input: { texts: TEXTS } }, signal);
  return vectors;
}

export function leastCosineOfTexts(a: Float32Array[], b: Float32Array[]): number {
  return Math.min(...a.map((vector, index) => dot(vector, b[index])));
}

export async function chatTokens(engine: ChatEngine, signal: AbortSignal): Promise<TokenLogprob[]> {
  const tokens: TokenLogprob[] = [];
  for await (const event of engine.generate(CHAT, signal)) {
    if (event.type === 'delta') tokens.push(...(event.delta.logprobs ?? []));
  }
  return tokens;
}

/** Of the likeliest next tokens, step by step: up to where, of two about as likely, each took another. */
export function leastCosineOfTokens(a: TokenLogprob[], b: TokenLogprob[]): number {
  let least = a.length > 0 ? 1 : -1;
  for (const [at, one] of a.entries()) {
    const other = b[at];
    least = Math.min(least, other ? cosineOfTops(one, other) : -1);
    if (other?.token !== one.token) break;
  }
  return least;
}

function cosineOfTops(a: TokenLogprob, b: TokenLogprob): number {
  const likely = ({ top }: TokenLogprob) =>
    new Map(top.map(({ token, logprob }) => [token, Math.exp(logprob)]));
  const [ofA, ofB] = [likely(a), likely(b)];
  const length = (of: Map<string, number>) => Math.hypot(...of.values());
  let sum = 0;
  for (const [token, share] of ofA) sum += share * (ofB.get(token) ?? 0);
  const cosine = sum / (length(ofA) * length(ofB));
  return Number.isNaN(cosine) ? -1 : cosine;
}

/** Of normalised vectors: their cosine. NaN, as of a broken kernel, agrees with nothing. */
function dot(a: Float32Array, b: Float32Array | undefined): number {
  let sum = 0;
  for (const [index, value] of a.entries()) sum += value * (b?.[index] ?? 0);
  return Number.isNaN(sum) ? -1 : sum;
}
