import { z } from '#base/full-zod';
import { type EngineRules, httpUrl, type VariantBase, vectorLength } from '#catalog/rules';

/** An OpenAI-compatible server. Its API key is passed to `start()`, never in the catalog. */
export interface UpstreamVariant extends VariantBase {
  engine: 'upstream';
  /** Base URL, to which `/chat/completions` and other paths are appended: `https://models.example.com/v1`. */
  baseUrl: string;
  /** The model's name on the server. */
  model: string;
  /** Length of a vector. Set for embedding models only. */
  dimensions?: number;
  /** Statuses of the server to pass to the client instead of trying the next variant: `[401, 429]`. */
  passThrough?: number[];
  /**
   * Time limit from a reply's headers to its first token, in milliseconds, before the next
   * variant is tried. Default: 60,000.
   */
  firstTokenMs?: number;
}

export const rules: EngineRules<UpstreamVariant> = {
  engine: 'upstream',
  fields: {
    baseUrl: httpUrl,
    model: z.string().min(1),
    dimensions: vectorLength.optional(),
    passThrough: z.array(z.int().min(400).max(599)).optional(),
    firstTokenMs: z.int().min(100).max(3_600_000).optional(),
  },
  kinds: ({ dimensions }) => (dimensions === undefined ? ['chat', 'transcription', 'rerank'] : ['embedding']),
};
