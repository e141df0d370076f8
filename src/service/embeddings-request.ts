import * as z from 'zod/mini';
import type { EmbeddingJob } from '../protocol/job.ts';
import { wellFormed } from './chat-messages.ts';
import { schemaError } from './schema-issues.ts';
import { invalidRequest } from './service-error.ts';

const MAX_INPUTS = 2048;
/** Past any context: refused before each token is looked at. */
const MAX_TOKENS = 1_000_000;

const text = z.string().check(z.minLength(1));
const tokens = z.array(z.int().check(z.gte(0))).check(z.minLength(1));

const INPUT = `must be a string, not empty, or an array of 1 to ${MAX_INPUTS} of them, or token ids as an array, or an array of such arrays`;

export const embeddingsEnforced = {
  model: z.string(),
  input: z.union(
    [
      text,
      z.array(text).check(z.minLength(1), z.maxLength(MAX_INPUTS)),
      tokens,
      z.array(tokens).check(z.minLength(1), z.maxLength(MAX_INPUTS)),
    ],
    INPUT,
  ),
  encoding_format: z.nullish(z.enum(['float', 'base64'])),
};

export const embeddingsPassedOn = { dimensions: z.nullish(z.int().check(z.gte(1))) };

export const embeddingsAccepted = { user: z.nullish(z.string()) };

const schema = z.object({ ...embeddingsEnforced, ...embeddingsPassedOn, ...embeddingsAccepted });

export interface EmbeddingsRequest {
  /** As the client gave it; the answer repeats it. */
  model: string;
  input: EmbeddingJob['input'];
  encoding: 'float' | 'base64';
  dimensions: number | null;
}

/** @throws ServiceError 400 that names the field. */
export function parseEmbeddingsRequest(body: Record<string, unknown>): EmbeddingsRequest {
  const given = Object.hasOwn(body, 'input') ? body['input'] : undefined;
  const most = Array.isArray(given) && typeof given[0] === 'number' ? MAX_TOKENS : MAX_INPUTS;
  if (Array.isArray(given) && given.length > most) {
    const rule = `must have at most ${most} elements, but has ${given.length}`;
    throw invalidRequest('input', `\`input\` ${rule}. Send several requests.`, 'invalid_value');
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw schemaError(parsed.error, body);
  const { model, input, encoding_format: encoding, dimensions } = parsed.data;
  return { model, input: toJobInput(input), encoding: encoding ?? 'float', dimensions: dimensions ?? null };
}

function toJobInput(input: z.infer<typeof schema>['input']): EmbeddingJob['input'] {
  if (typeof input === 'string') return { texts: [wellFormed(input)] };
  if (isTexts(input)) return { texts: input.map(wellFormed) };
  return { tokens: isNested(input) ? input : [input] };
}

const isTexts = (input: string[] | number[] | number[][]): input is string[] => typeof input[0] === 'string';
const isNested = (input: number[] | number[][]): input is number[][] => Array.isArray(input[0]);
