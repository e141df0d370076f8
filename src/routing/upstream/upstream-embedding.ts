import type { CreateEmbeddingResponse } from 'openai/resources/embeddings';
import type { EmbeddingJob, EmbeddingResult } from '../../protocol/job.ts';
import { ServiceError, unsupported } from '../../api/service-error.ts';
import { cutShort, fault } from './upstream-failures.ts';
import type { UpstreamServer } from './upstream-server.ts';

/** All embeddings must be there before the service gives up. */
const SILENCE_MS = 240_000;

/** @throws ServiceError; the signal's reason when aborted */
export async function upstreamEmbedding(
  server: UpstreamServer,
  { input: given, dimensions }: EmbeddingJob,
  signal: AbortSignal,
): Promise<EmbeddingResult> {
  const began = performance.now();
  const input = 'texts' in given ? given.texts : given.tokens;
  // Not every server has base64.
  const body = { model: server.variant.model, input, encoding_format: 'float', dimensions };
  server.running++;
  try {
    const response = await server.post('/embeddings', body, signal, SILENCE_MS);
    const { data, usage } = (await response.json()) as CreateEmbeddingResponse;
    if (data.length !== input.length)
      throw fault('upstream_failed', `gave ${data.length} vectors for ${input.length} inputs.`);
    const length = data[0]?.embedding.length ?? 0;
    // Some servers ignore what they cannot do.
    if (dimensions !== undefined && length !== dimensions)
      throw unsupported(
        'dimensions',
        `must be omitted or ${length}: the server behind this model gives vectors of that length`,
      );
    return {
      vectors: data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => normalised(embedding)),
      promptTokens: usage.prompt_tokens,
      fingerprint: server.fingerprint,
      timings: { queueMs: 0, computeMs: performance.now() - began },
    };
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ServiceError ? error : cutShort();
  } finally {
    server.running--;
  }
}

function normalised(vector: number[]): Float32Array<ArrayBuffer> {
  const length = Math.hypot(...vector) || 1;
  return Float32Array.from(vector, (value) => value / length);
}
