import type { Constraint, Sampling } from '../../protocol/job.ts';
import { checkJsonSchema } from './json-schema.ts';
import { conflicting } from '../service-error.ts';

/** What several endpoints make of the same fields. */

interface SamplingFields {
  temperature?: number | null | undefined;
  top_p?: number | null | undefined;
  seed?: number | null | undefined;
  presence_penalty?: number | null | undefined;
  frequency_penalty?: number | null | undefined;
  logit_bias?: Record<string, number> | null | undefined;
}

/** Without what the request leaves to the model's defaults. */
export function toSampling(request: SamplingFields): Partial<Sampling> {
  const { temperature, top_p, seed, presence_penalty, frequency_penalty, logit_bias } = request;
  return {
    ...(temperature == null ? {} : { temperature }),
    ...(top_p == null ? {} : { topP: top_p }),
    ...(seed == null ? {} : { seed }),
    ...(presence_penalty == null ? {} : { presencePenalty: presence_penalty }),
    ...(frequency_penalty == null ? {} : { frequencyPenalty: frequency_penalty }),
    ...(logit_bias == null ? {} : { logitBias: logit_bias }),
  };
}

type TextFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema';
      schema?: Record<string, unknown> | null | undefined;
      strict?: boolean | null | undefined;
    };

/** `at`: where the schema stands in the request. @throws ServiceError 400 */
export function toJsonConstraint(format: TextFormat | null | undefined, at = ''): Constraint | null {
  if (format == null || format.type === 'text') return null;
  if (format.type !== 'json_schema' || format.schema == null) return { kind: 'json_object' };
  checkJsonSchema(format.schema, at, format.strict ?? false);
  return { kind: 'json_schema', schema: format.schema };
}

/** @throws ServiceError 400 */
export function toIncludeUsage(request: {
  stream?: boolean | null | undefined;
  stream_options?: { include_usage?: boolean | null | undefined } | null | undefined;
}): boolean {
  const { stream, stream_options: options } = request;
  if (options != null && !stream) {
    throw conflicting('stream_options', 'needs `stream`: set `stream` to true, or leave it out');
  }
  return options?.include_usage ?? false;
}
