import type OpenAI from 'openai';
import type { EmbeddingEvent, EmbeddingJob, EmbeddingResult } from '#jobs';
import { omitNulls } from '../generation/generation.ts';
import { respond } from '../http/answer.ts';
import { toBase64 } from '../http/base64.ts';
import type { Exchange } from '../http/exchange.ts';
import { JobMeter, JobRun } from '../http/job-run.ts';
import { JSON_TYPE } from '../http/response.ts';
import type { EmbeddingsBody } from './embeddings-request.ts';

/** POST /v1/embeddings */
export async function createEmbeddings(exchange: Exchange, request: EmbeddingsBody): Promise<Response> {
  const meter = new JobMeter(0);
  const run = await JobRun.admit(exchange, {
    model: request.model,
    kind: 'embedding',
    meter,
    isStreamed: false,
    reserved: null,
  });
  const job = {
    kind: 'embedding' as const,
    model: run.model.id,
    input: toJobInput(request.input),
    ...omitNulls({ dimensions: request.dimensions, inputType: request.input_type }),
  };
  let body = '';
  const format = {
    type: JSON_TYPE,
    event(event: EmbeddingEvent) {
      meter.count(event.promptTokens, { promptTokens: event.promptTokens });
      body = JSON.stringify(toEmbeddingList(request, event));
      return '';
    },
    end: () => body,
  };
  return respond(run, format, (sink) => run.run(job, sink));
}

function toJobInput(input: EmbeddingsBody['input']): EmbeddingJob['input'] {
  if (typeof input === 'string') return { texts: [input.toWellFormed()] };
  if (isTexts(input)) return { texts: input.map((text) => text.toWellFormed()) };
  return { tokens: isNested(input) ? input : [input] };
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
