import { z } from '../../util/full-zod.ts';
import type { VariantBase } from '../variant.ts';
import { type EngineRules, httpUrl, vectorLength } from './engine-rules.ts';

/** An OpenAI-compatible server. Its key is given to `start()`, never in the catalog. */
export interface UpstreamVariant extends VariantBase {
  engine: 'upstream';
  /** Ends before `/chat/completions` or `/audio/transcriptions`: `https://models.example.com/v1`. */
  baseUrl: string;
  /** The model's name there. */
  model: string;
  /** Length of a vector: an embedding model. None: a chat model, or speech to text. */
  dimensions?: number;
  /** Statuses of the server that the caller gets, where the next variant would answer: `[401, 429]`. */
  passThrough?: number[];
  /** Maximum time from the headers of a reply to its first token, in milliseconds. Then the next variant answers. Default: 60,000. */
  firstTokenMs?: number;
}

export const upstream: EngineRules<UpstreamVariant> = {
  fields: {
    baseUrl: httpUrl,
    model: z.string().min(1),
    dimensions: vectorLength.optional(),
    passThrough: z.array(z.int().min(400).max(599)).optional(),
    firstTokenMs: z.int().min(100).max(3_600_000).optional(),
  },
  kinds: ({ dimensions }) => (dimensions === undefined ? ['chat', 'transcription'] : ['embedding']),
};
