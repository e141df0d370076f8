import { z } from '../../util/full-zod.ts';
import type { VariantBase } from '../variant.ts';
import { weightPath } from '../weight-path.ts';
import { type EngineRules, httpUrl, proportional } from './engine-rules.ts';

/** Chat by MLC's web-llm on WebGPU: a folder with `mlc-chat-config.json`, and a model library compiled to WASM. */
export interface WebLlmVariant extends VariantBase {
  engine: 'web-llm';
  /** The compiled model library: an absolute URL, or a path below the models folder. */
  library: string;
  /** Keeps the default system message of the model's configuration, where the caller sends none. */
  keepTemplateText?: boolean;
  /** Hidden start of every reply: empty thoughts (`<think>…</think>`), for a model that thinks only when asked to. */
  replyPrefix?: string;
}

export const webLlm: EngineRules<WebLlmVariant> = {
  fields: {
    library: z.union([httpUrl, weightPath], { error: 'must be a URL, or a path below the models folder' }),
    replyPrefix: z.string().optional(),
    keepTemplateText: z.boolean().optional(),
  },
  kinds: () => ['chat'],
  // Not measured.
  memory: proportional(0, 1.2),
};
