import type { EmbeddingTraining } from '#catalog';
import { requestError, serverError, unsupported, type ServiceError } from '#base';
import type { EmbeddingEvent, EmbeddingJob } from '#jobs';
import { MAX_CHARACTERS } from '#chat-template';

/** Rejects oversized text or token ids before tokenizing them. @throws ServiceError `context_length_exceeded` */
export function refuseOversizedInput(
  { length }: { length: number },
  index: number,
  contextLength: number,
): void {
  if (length > contextLength * MAX_CHARACTERS)
    throw inputTooLong(index, `${length} characters, more than ${MAX_CHARACTERS} for each`, contextLength);
}

export function inputTooLong(index: number, length: string, contextLength: number): ServiceError {
  const message = `This model's maximum context length is ${contextLength} tokens, and input[${index}] has ${length}. Split or shorten it.`;
  return requestError(400, message, 'context_length_exceeded', `input[${index}]`);
}

interface EmbeddingModel extends EmbeddingTraining {
  /** Length of the model's own vectors. */
  dimensions: number;
}

type Vector = Float32Array<ArrayBuffer>;

/** An embedding job, checked against its model. */
interface Embedding {
  input: EmbeddingJob['input'];
  /** Builds the answer from the input's vectors. */
  toEvent(vectors: readonly Vector[], promptTokens: number): EmbeddingEvent;
}

/** Checks and prepares a job. @throws ServiceError 400 if this model cannot do it */
export function beginEmbedding(job: EmbeddingJob, model: EmbeddingModel, fingerprint: string): Embedding {
  const length = resolveDimensions(job.dimensions, model);
  return {
    input: withPrefix(job, model.prefixes),
    toEvent: (vectors, promptTokens) => ({
      type: 'done',
      vectors: vectors.map((vector) => shortened(vector, length)),
      promptTokens,
      fingerprint,
    }),
  };
}

/** Resolves the `dimensions` parameter to the length of the answer's vectors. */
function resolveDimensions(
  asked: number | undefined,
  { dimensions: full, minDimensions: shortest = full }: EmbeddingModel,
): number {
  if (asked === undefined) return full;
  if (asked >= shortest && asked <= full) return asked;
  const allowed =
    shortest === full
      ? `omitted or ${full}: this model's vectors cannot be shortened`
      : `between ${shortest} and ${full} for this model`;
  throw requestError(400, `\`dimensions\` must be ${allowed}.`, 'unsupported_value', 'dimensions');
}

/** Truncates a vector to `length` numbers and normalizes it. */
function shortened(vector: Vector, length: number): Vector {
  if (vector.length === length) return vector;
  const first = vector.slice(0, length);
  const norm = Math.hypot(...first);
  return norm === 0 ? first : first.map((value) => value / norm);
}

/** Adds the model's prefix for `input_type` to each text, if the request sets it. */
function withPrefix(
  { input, inputType, ranks }: EmbeddingJob,
  prefixes: EmbeddingTraining['prefixes'],
): EmbeddingJob['input'] {
  if (prefixes && ranks && 'texts' in input) {
    const [query = '', ...documents] = input.texts;
    return { texts: [prefixes.query + query, ...documents.map((text) => prefixes.document + text)] };
  }
  if (!prefixes || inputType === undefined) return input;
  if (inputType !== 'query' && inputType !== 'document')
    throw unsupported('input_type', 'must be "query" or "document" for this model');
  if ('tokens' in input) throw unsupported('input', 'must be text where `input_type` is given');
  return { texts: input.texts.map((text) => prefixes[inputType] + text) };
}

/**
 * Error for a result that is not a vector of finite numbers of this length; undefined if it is one. A damaged
 * model may compute anything.
 */
export function vectorFault(vector: Vector, dimensions: number): ServiceError | undefined {
  if (vector.length === dimensions && vector.every((value) => Number.isFinite(value))) return undefined;
  const message = `The model did not return a vector of ${dimensions} finite numbers. Its file may be damaged: use another model.`;
  return serverError('engine_failed', message);
}
