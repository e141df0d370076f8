import { CHARACTERS_A_TOKEN } from '#jobs';
import { unsupported, type z } from '#base';
import { embeddingsSchema, readUsage, tokensOfText } from './answer-schemas.ts';
import { readAnswer } from './read-answer.ts';
import { brokeBound, misshapen } from './upstream-failures.ts';
import type { RunOnServer } from './upstream-server.ts';

/** Maximum length of a vector if the catalog gives none. */
const MAX_DIMENSIONS = 8192;

/** A number as JSON, on a separate line. */
const BYTES_PER_NUMBER = 48;
const BYTES_PER_VECTOR = 1024;
/** Tokens that a server may add to each input. */
const HIDDEN_TOKENS = 64;
/**
 * Maximum size of an answer, which is parsed at once. Inputs whose vectors may take more are sent in several
 * requests.
 */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

export const upstreamEmbedding: RunOnServer<'embedding'> = async function* (server, job, signal) {
  const { input: jobInput, dimensions, inputType } = job;
  const { variant } = server;
  const inputs = 'texts' in jobInput ? jobInput.texts : jobInput.tokens.map((ids) => Array.from(ids));
  const own = variant.dimensions;
  const most = Math.max(own ?? MAX_DIMENSIONS, Math.min(dimensions ?? 0, MAX_DIMENSIONS));
  const vectors: Float32Array<ArrayBuffer>[] = [];
  let promptTokens = 0;
  while (vectors.length < inputs.length) {
    // If the catalog has no vector length, the first answer shows it.
    const bytes = BYTES_PER_VECTOR + (vectors[0]?.length ?? most) * BYTES_PER_NUMBER;
    const count = Math.max(1, Math.floor(MAX_BODY_BYTES / bytes) - 1);
    const input = inputs.slice(vectors.length, vectors.length + count);
    // Not every server has base64.
    const fields = { input, dimensions, input_type: inputType };
    const body = { model: variant.model, encoding_format: 'float', ...fields };
    const response = await server.post('/embeddings', body, signal);
    const schema = embeddingsSchema(input.length);
    const answer = await readAnswer(response, schema, 'embeddings', (1 + input.length) * bytes);
    vectors.push(...readVectors(answer.data, input.length, dimensions, own ?? vectors[0]?.length));
    const { prompt } = readUsage(answer.usage, variant.contextLength * input.length);
    promptTokens += tokensOfText(prompt, charactersOf(input), input.length * HIDDEN_TOKENS);
  }
  yield { type: 'done', vectors, promptTokens, fingerprint: server.fingerprint };
};

type Embedding = z.output<ReturnType<typeof embeddingsSchema>>['data'][number];

/** @param dimensions length that the request asks for; `own`: length according to the catalog */
function readVectors(
  data: readonly Embedding[],
  inputs: number,
  dimensions: number | undefined,
  own: number | undefined,
): Float32Array<ArrayBuffer>[] {
  const [first] = data;
  if (!first || data.length !== inputs) throw misshapen('embeddings');
  const { length } = first.embedding;
  // Some servers ignore a length that they cannot return.
  if (dimensions !== undefined && length !== dimensions && length === (own ?? MAX_DIMENSIONS))
    throw unsupported(
      'dimensions',
      `must be omitted or ${length}: the server behind this model gives vectors of that length`,
    );
  const expected = dimensions ?? own ?? length;
  const vectors: Float32Array<ArrayBuffer>[] = [];
  for (const [at, { index = at, embedding }] of data.entries()) {
    if (embedding.length !== expected) throw brokeBound(`gave a vector of ${embedding.length} numbers`);
    if (index < 0 || index >= inputs || vectors[index])
      throw brokeBound('gave no vector, or two, for one input');
    vectors[index] = normalised(embedding);
  }
  return vectors;
}

function normalised(vector: unknown[]): Float32Array<ArrayBuffer> {
  const numbers = Float64Array.from(vector, (value) => (typeof value === 'number' ? value : Number.NaN));
  const length = Math.sqrt(numbers.reduce((sum, value) => sum + value * value, 0));
  if (!Number.isFinite(length)) throw brokeBound('gave a vector that is not of finite numbers');
  return Float32Array.from(numbers, (value) => value / (length || 1));
}

/** Estimates the number of characters of texts and token lists. */
const charactersOf = (input: readonly (string | readonly number[])[]): number =>
  input.reduce((total, each) => total + each.length * (typeof each === 'string' ? 1 : CHARACTERS_A_TOKEN), 0);
