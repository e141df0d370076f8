import type { Chunk } from './wllama-reply.ts';
import { seed32, SEEDS } from './wllama-request.ts';

type Fields = Record<string, unknown>;
type Timings = NonNullable<Chunk['timings']>;

/**
 * llama.cpp's server hands out one result a step, and the first is empty: the first token of a short prompt is sent only
 * when the second has been computed. So the first token is requested alone, and the reply is then continued from its text,
 * which costs no additional step.
 * @returns the request for the first token; null where the rest could not be continued
 */
export function firstTokenRequest(fields: Fields): Fields | null {
  const { prompt, grammar, json_schema: schema, n_probs: probs, n_predict: limit } = fields;
  const bound = grammar !== undefined || schema !== undefined || probs !== undefined;
  // A token is not joined with what stands before it.
  if (bound || limit === 0 || limit === 1 || !/[\n>]$/.test(String(prompt))) return null;
  return { ...fields, n_predict: 1 };
}

/** Drawn here where there is none, so that the same first token comes again if the reply has to begin again. */
export const withSeed = (fields: Fields): Fields =>
  fields['seed'] === undefined ? { ...fields, seed: Math.floor(Math.random() * SEEDS) } : fields;

/**
 * Whether a prompt that goes on with this text is read back as the tokens that it came from: white space is joined with
 * white space, a sign with the sign before it, and of half a character nothing comes.
 */
const isSure = (prompt: string, text: string): boolean =>
  (prompt.endsWith('\n') ? /^ ?[^\s\ufffd]+$/u : /^ ?[\p{L}\p{N}]+$/u).test(text);

export type AfterFirst =
  /** There is no more. */
  | { type: 'whole'; chunk: Chunk }
  /** The request for what follows. */
  | { type: 'more'; chunk: Chunk; timings: Timings; rest: Fields }
  /** It begins again, and draws the same. */
  | { type: 'unsure' };

/**
 * @param fields of the whole reply, with the seed that the first token was drawn by
 * @param chunks all that the request for the first token was answered
 */
export function afterFirst(fields: Fields, chunks: Chunk[]): AfterFirst {
  const last = chunks.at(-1);
  const text = chunks.map(({ choices }) => choices?.[0]?.text ?? '').join('');
  if (!last?.timings) return { type: 'unsure' };
  if (last.choices?.[0]?.finish_reason === 'stop')
    return { type: 'whole', chunk: { ...last, choices: [{ text, finish_reason: 'stop' }] } };
  const prompt = String(fields['prompt']);
  if (!isSure(prompt, text)) return { type: 'unsure' };
  const limit = fields['n_predict'];
  const rest = {
    ...fields,
    prompt: prompt + text,
    seed: seed32(Number(fields['seed']) + 1),
    ...(typeof limit === 'number' && { n_predict: limit - 1 }),
  };
  return { type: 'more', chunk: { ...last, choices: [{ text }] }, timings: last.timings, rest };
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
