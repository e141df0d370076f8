import type OpenAI from 'openai';
import { engineLost } from '../../errors/engine-errors.ts';
import type { EmbeddingJob, EmbeddingResult } from '../../jobs/embedding.ts';
import { omitNulls } from '../generation/generation.ts';
import type { Call } from '../http/call.ts';
import { wellFormed } from '../body/message-content.ts';
import type { EmbeddingsBody } from './embeddings-request.ts';
import { answerJson, answerHeaders, JSON_TYPE } from '../http/response.ts';
import { requireModel } from '../models/models.ts';

/** POST /v1/embeddings */
export async function createEmbeddings(call: Call, request: EmbeddingsBody): Promise<Response> {
  const { models, engine } = call.dependencies;
  const model = await requireModel(models, request.model, 'embedding', call.admitted);
  const job = {
    kind: 'embedding' as const,
    model: model.id,
    input: toJobInput(request.input),
    ...omitNulls({ dimensions: request.dimensions, inputType: request.input_type }),
  };
  let isComputing = false;
  let timings = {};
  const answer = async (): Promise<string> => {
    for await (const event of engine.run(job, { id: call.id, signal: call.abort.signal, model })) {
      if (event.type === 'waiting') isComputing = event.stage === 'prefill';
      else {
        ({ timings } = event);
        call.servedBy = event.fingerprint;
        call.trace.accepted(event.fingerprint);
        return JSON.stringify(toEmbeddingList(request, event));
      }
    }
    throw engineLost();
  };
  return answerJson(call, answer(), {
    isComputing: () => isComputing,
    headers: () => answerHeaders(call, JSON_TYPE, timings),
  });
}

function toJobInput(input: EmbeddingsBody['input']): EmbeddingJob['input'] {
  if (typeof input === 'string') return { texts: [wellFormed(input)] };
  if (isTexts(input)) return { texts: input.map(wellFormed) };
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
      // The client's types know the decoded vector alone; on the wire it may be base64.
      embedding: (base64 ? toBase64(vector) : Array.from(vector)) as number[],
    })),
    model: request.model,
    usage,
  } satisfies OpenAI.CreateEmbeddingResponse;
}

/** ES2026, in browsers of 2025 and later: 60 times as fast as `btoa`. */
interface Encodable extends Uint8Array {
  toBase64?(): string;
}

/** The float32 bytes as OpenAI's clients read them: little-endian, as on every processor that a browser runs on. */
function toBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  const bytes: Encodable = new Uint8Array(buffer, byteOffset, byteLength);
  return bytes.toBase64?.() ?? btoa(String.fromCharCode(...bytes));
}
