import type { EmbeddingTraining } from '#catalog';
import { requestError, serverError, unsupported, type ServiceError } from '#base';
import type { EmbeddingEvent, EmbeddingJob } from '#jobs';
import { MAX_CHARACTERS } from '#chat-template';

/** Rejects oversized text or token ids before tokenizing them. @param place as for `inputTooLong()` @throws ServiceError `context_length_exceeded` */
export function refuseOversizedInput(
  { length }: { length: number },
  place: string,
  contextLength: number,
): void {
  if (length > contextLength * MAX_CHARACTERS)
    throw inputTooLong(place, `${length} characters, more than ${MAX_CHARACTERS} for each`, contextLength);
}

/** @param place the text's field in the request: `input[1]` */
export function inputTooLong(place: string, length: string, contextLength: number): ServiceError {
  const message = `This model's maximum context length is ${contextLength} tokens, and ${place} has ${length}. Split or shorten it.`;
  return requestError(400, message, 'context_length_exceeded', place);
}

/** @param place as for `inputTooLong()` */
export function noTokens(place: string): ServiceError {
  const message = `The model's vocabulary has no tokens for some characters of ${place}. Leave them out, or choose another model.`;
  return requestError(400, message, 'invalid_value', place);
}

interface EmbeddingModel extends EmbeddingTraining {
  contextLength: number;
  /** Length of the model's own vectors. */
  dimensions: number;
}

type Vector = Float32Array<ArrayBuffer>;

/** An embedding job, checked against its model. */
export interface Embedding {
  input: EmbeddingJob['input'];
  /** Field of an input in the request, for errors. */
  placeOf(index: number): string;
  /** Maximum tokens of an input, from which on it is cut; undefined if it must not be cut. */
  cutOf(index: number): number | undefined;
  /** Builds the answer from the input's vectors. */
  toEvent(vectors: readonly Vector[], promptTokens: number): EmbeddingEvent;
}

/** Checks and prepares a job. @throws ServiceError 400 if this model cannot do it */
export function beginEmbedding(job: EmbeddingJob, model: EmbeddingModel, fingerprint: string): Embedding {
  const length = resolveDimensions(job.dimensions, model);
  const { ranks } = job;
  return {
    input: withPrefixes(job, model),
    placeOf: (index) => (!ranks ? `input[${index}]` : index === 0 ? 'query' : `documents[${index - 1}]`),
    cutOf: (index) => (index > 0 ? ranks?.maxTokens : undefined),
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

/** Shortens a document to what a context can hold at most, before it is tokenized. */
export const boundDocument = (text: string, contextLength: number): string =>
  text.slice(0, contextLength * MAX_CHARACTERS).toWellFormed();

/** Adds the model's prefixes to the texts of a ranking, or that for `input_type` if the request sets it. */
function withPrefixes(
  { input, inputType, ranks }: EmbeddingJob,
  { prefixes, contextLength }: EmbeddingModel,
): EmbeddingJob['input'] {
  if (ranks && 'texts' in input) {
    const { query, document } = prefixes ?? { query: '', document: '' };
    return {
      texts: input.texts.map((text, index) =>
        index === 0 ? query + text : boundDocument(document + text, contextLength),
      ),
    };
  }
  if (!prefixes || inputType === undefined) return input;
  if (inputType !== 'query' && inputType !== 'document')
    throw unsupported('input_type', 'must be "query" or "document" for this model');
  if ('tokens' in input) throw unsupported('input', 'must be text where `input_type` is given');
  return { texts: input.texts.map((text) => prefixes[inputType] + text) };
}

/**
 * Error for a result that is not a vector of finite numbers of this length with a direction; undefined if it is one. A damaged
 * model may compute anything.
 */
export function vectorFault(vector: Vector, dimensions: number): ServiceError | undefined {
  if (vector.length === dimensions && vector.every((value) => Number.isFinite(value)) && vector.some(Boolean))
    return undefined;
  const cause =
    vector.length === dimensions
      ? ', or only zeros. Its file may be damaged: use another model.'
      : `, but of ${vector.length}: correct \`dimensions\` in the catalog, or use another model.`;
  const message = `The model did not return a vector of ${dimensions} finite numbers${cause}`;
  return serverError('engine_failed', message);
}
