import { requestError, serverError, type ServiceError } from '../errors/service-error.ts';
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

/** Tells whether a vector is one: a hostile model may compute anything. */
export const isVector = (vector: Float32Array, dimensions: number): boolean =>
  vector.length === dimensions && vector.every((value) => Number.isFinite(value));

export const notAVector = (dimensions: number): ServiceError =>
  serverError(
    'engine_failed',
    `The model gave something else than a vector of ${dimensions} finite numbers. Its file may be damaged: use another model.`,
  );
