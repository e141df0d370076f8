import type { Chunk } from './reply-reader.ts';

type Fields = Record<string, unknown>;
type Timings = NonNullable<Chunk['timings']>;

/** Seeds are 32 bits wide; the highest one means a random one. */
const SEEDS = 0xffffffff;

/**
 * llama.cpp's server begins a stream with an empty result, and hands out one result a step: a prompt that takes a single
 * step has its first token handed out when the second has been computed. A request that is not streamed has no such
 * result. So a reply is asked for its first token alone, and then gone on with from its text, which is the step that
 * would have come anyway.
 * @returns the request for the first token; null where the rest could not be gone on with
 */
export function firstTokenRequest(fields: Fields): Fields | null {
  const { prompt, grammar, json_schema: schema, n_probs: probs, n_predict: limit } = fields;
  const bound = grammar !== undefined || schema !== undefined || probs !== undefined;
  // A token is not joined with what stands before it.
  if (bound || limit === 0 || !/[\n>]$/.test(String(prompt))) return null;
  return { ...fields, stream: false, n_predict: 1 };
}

/** Drawn here where there is none, so that the same first token comes again if the reply has to begin anew. */
export const withSeed = (fields: Fields): Fields =>
  fields['seed'] === undefined ? { ...fields, seed: Math.floor(Math.random() * SEEDS) } : fields;

export type AfterFirst =
  /** It is the whole reply. */
  | { type: 'whole'; chunk: Chunk }
  /** The request for what follows it. */
  | { type: 'more'; chunk: Chunk; rest: Fields }
  /** Its text would not be read back as the same token: the reply begins anew, and draws the same. */
  | { type: 'unsure' };

/** @param fields of the whole reply, with the seed that the first token was drawn by */
export function afterFirst(fields: Fields, chunk: Chunk | undefined): AfterFirst {
  const [choice] = chunk?.choices ?? [];
  if (!chunk || !choice || !chunk.timings) return { type: 'unsure' };
  const limit = fields['n_predict'];
  if (choice.finish_reason === 'stop' || limit === 1) return { type: 'whole', chunk };
  const text = choice.text ?? '';
  // White space is joined with white space, and half a character is none.
  if (!/^ ?[^\s\ufffd]+$/u.test(text)) return { type: 'unsure' };
  const rest = {
    ...fields,
    prompt: `${String(fields['prompt'])}${text}`,
    seed: (Number(fields['seed']) + 1) % SEEDS,
    ...(typeof limit === 'number' && { n_predict: limit - 1 }),
  };
  return { type: 'more', chunk: { ...chunk, choices: [{ ...choice, finish_reason: null }] }, rest };
}

/** A chunk of the rest, with the figures of the whole reply. */
export function withFirst(chunk: Chunk, first: Timings): Chunk {
  if (!chunk.timings) return chunk;
  const { prompt_ms: ms, predicted_n: count, predicted_ms: decodeMs } = chunk.timings;
  return {
    ...chunk,
    // What counts as the rest's prompt is the computing of its first token.
    timings: { ...first, predicted_n: count + 1, predicted_ms: decodeMs + ms },
  };
}
