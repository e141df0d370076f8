import type { EmbeddingJob } from '../../../protocol/job.ts';
import type { EmbeddingEngine } from '../../engine.ts';
import { badRequest } from '../../../protocol/engine-error.ts';
import { fault } from './upstream-failures.ts';
import { UpstreamEngine } from './upstream-engine.ts';

export class UpstreamEmbeddingEngine extends UpstreamEngine implements EmbeddingEngine {
  async embed(
    job: EmbeddingJob,
    signal: AbortSignal,
  ): Promise<{ vectors: Float32Array<ArrayBuffer>[]; tokens: number }> {
    const input = 'texts' in job.input ? job.input.texts : job.input.tokens;
    try {
      const { data, usage } = await this.client.embeddings.create(
        {
          model: this.model,
          input,
          // Not every server has base64, which the SDK would ask for.
          encoding_format: 'float',
          ...(job.dimensions !== undefined && { dimensions: job.dimensions }),
        },
        { signal },
      );
      const ordered = data
        .toSorted((a, b) => a.index - b.index)
        .map(({ embedding }) => normalised(embedding));
      if (ordered.length !== input.length)
        throw fault('upstream_failed', `gave ${ordered.length} vectors for ${input.length} inputs.`);
      if (job.dimensions !== undefined && ordered.some(({ length }) => length !== job.dimensions))
        throw notShortened(ordered[0]?.length ?? 0);
      return { vectors: ordered, tokens: usage.prompt_tokens };
    } catch (error) {
      signal.throwIfAborted();
      throw this.failure(error);
    }
  }
}

/** Some servers ignore what they cannot do. */
const notShortened = (length: number) =>
  badRequest(
    `\`dimensions\` must be omitted or ${length}: the server behind this model gives vectors of that length.`,
    'dimensions',
    'unsupported_value',
  );

function normalised(vector: number[]): Float32Array<ArrayBuffer> {
  const length = Math.hypot(...vector) || 1;
  return Float32Array.from(vector, (value) => value / length);
}
