import type { EmbeddingTraining } from '../catalog/engines/engine-rules.ts';
import { requestError, serverError, type ServiceError, unsupported } from '../errors/service-error.ts';
import type { EmbeddingJob } from '../jobs/embedding.ts';
import { MAX_CHARACTERS } from './prompt/prompt-bounds.ts';

/** Refuses a text or token ids before the work of tokenizing. @throws ServiceError `context_length_exceeded` */
export function refuseOversizedInput(
  { length }: { length: number },
  index: number,
  contextLength: number,
): void {
  if (length > contextLength * MAX_CHARACTERS)
    throw inputTooLong(index, `${length} characters, more than ${MAX_CHARACTERS} for each`, contextLength);
}

export const inputTooLong = (index: number, length: string, contextLength: number): ServiceError =>
  requestError(
    400,
    `This model's context holds ${contextLength} tokens, and input[${index}] has ${length}. Split or shorten it.`,
    'context_length_exceeded',
    `input[${index}]`,
  );

/**
 * Resolves the parameter `dimensions` to the length of the answer's vectors.
 * @param full the model's own length
 * @param shortest what the model was trained to be cut to
 * @throws ServiceError 400
 */
export function resolveDimensions(asked: number | undefined, full: number, shortest = full): number {
  if (asked === undefined) return full;
  if (asked >= shortest && asked <= full) return asked;
  const allowed =
    shortest === full
      ? `omitted or ${full}: this model's vectors cannot be shortened`
      : `between ${shortest} and ${full} for this model`;
  throw requestError(400, `\`dimensions\` must be ${allowed}.`, 'unsupported_value', 'dimensions');
}

/** @returns the first numbers of a vector, as a vector of length 1 */
export function shortened(vector: Float32Array<ArrayBuffer>, length: number): Float32Array<ArrayBuffer> {
  if (vector.length === length) return vector;
  const first = vector.slice(0, length);
  const norm = Math.hypot(...first);
  return norm === 0 ? first : first.map((value) => value / norm);
}

/**
 * Puts the model's prefix before each text of a request that names its `input_type`.
 * @throws ServiceError 400
 */
export function withPrefix(
  { input, inputType }: EmbeddingJob,
  prefixes: EmbeddingTraining['prefixes'],
): EmbeddingJob['input'] {
  if (!prefixes || inputType === undefined) return input;
  if (inputType !== 'query' && inputType !== 'document')
    throw unsupported('input_type', 'must be "query" or "document" for this model');
  if ('tokens' in input) throw unsupported('input', 'must be text where `input_type` is given');
  return { texts: input.texts.map((text) => prefixes[inputType] + text) };
}

/** Tells whether a vector is one: a hostile model may compute anything. */
export const isVector = (vector: Float32Array, dimensions: number): boolean =>
  vector.length === dimensions && vector.every((value) => Number.isFinite(value));

export const notAVector = (dimensions: number): ServiceError =>
  serverError(
    'engine_failed',
    `The model gave something else than a vector of ${dimensions} finite numbers. Its file may be damaged: use another model.`,
  );
