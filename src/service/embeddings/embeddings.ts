import { omitNulls } from '#base';
import type OpenAI from 'openai';
import type { EmbeddingJob, EmbeddingResult } from '#jobs';
import { answerWhole } from '../http/answer.ts';
import { toBase64 } from '../http/base64.ts';
import type { Exchange } from '../http/exchange.ts';
import type { EmbeddingsBody } from './embeddings-request.ts';

/** POST /v1/embeddings */
export const createEmbeddings = (exchange: Exchange, request: EmbeddingsBody): Promise<Response> =>
  answerWhole(
    exchange,
    { model: request.model, kind: 'embedding', reserved: null },
    ({ id }) => ({
      kind: 'embedding',
      model: id,
      input: toJobInput(request.input),
      ...omitNulls({ dimensions: request.dimensions, inputType: request.input_type }),
    }),
    (event, meter) => {
      meter.count(event.promptTokens, { promptTokens: event.promptTokens });
      return toEmbeddingList(request, event);
    },
  );

function toJobInput(input: EmbeddingsBody['input']): EmbeddingJob['input'] {
  if (typeof input === 'string' || isTexts(input))
    return { texts: [input].flat().map((text) => text.toWellFormed()) };
  return { tokens: (isNested(input) ? input : [input]).map((ids) => Float64Array.from(ids)) };
}

const isTexts = (input: string[] | number[] | number[][]): input is string[] => typeof input[0] === 'string';
const isNested = (input: number[] | number[][]): input is number[][] => Array.isArray(input[0]);

function toEmbeddingList(request: EmbeddingsBody, { vectors, promptTokens }: EmbeddingResult) {
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  const base64 = request.encoding_format === 'base64';
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding' as const,
      index,
      // The client's types have only the decoded vector; on the wire it may be base64.
      embedding: (base64 ? encoded(vector) : Array.from(vector)) as number[],
    })),
    model: request.model,
    usage,
  } satisfies OpenAI.CreateEmbeddingResponse;
}

/**
 * Encodes the float32 bytes as OpenAI's clients read them: little-endian, as on every processor that a
 * browser runs on.
 */
const encoded = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  toBase64(new Uint8Array(buffer, byteOffset, byteLength));
