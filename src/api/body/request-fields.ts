import type * as z from 'zod/mini';
import type { Constraint, Sampling } from '../../protocol/job.ts';
import type { flatFormat, samplingFields, streamFields } from './fields.ts';
import { checkJsonSchema } from './json-schema.ts';
import { conflicting } from '../service-error.ts';

/** Fields that several endpoints share, as parts of a job. */

type SamplingFields = Partial<z.infer<z.ZodMiniObject<typeof samplingFields>>>;

/** For what neither the request nor the model names. */
export const OPENAI_DEFAULTS = { temperature: 1, topP: 1 };

/** Only what the request names; the model's defaults fill in the rest. */
export const toSampling = (request: SamplingFields): Partial<Sampling> =>
  given({
    temperature: request.temperature,
    topP: request.top_p,
    seed: request.seed,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    logitBias: request.logit_bias,
  });

/** Without the fields that are null or undefined. */
export const given = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    [Key in keyof Fields]?: NonNullable<Fields[Key]>;
  };

/** `at`: where the schema stands in the request. @throws ServiceError 400 */
export function toJsonConstraint(format: z.infer<typeof flatFormat>, at = ''): Constraint | null {
  if (format == null || format.type === 'text') return null;
  if (format.type !== 'json_schema' || format.schema == null) return { kind: 'json_object' };
  checkJsonSchema(format.schema, at, format.strict ?? false);
  return { kind: 'json_schema', schema: format.schema };
}

/** @throws ServiceError 400 */
export function toIncludeUsage({
  stream,
  stream_options: options,
}: z.infer<z.ZodMiniObject<typeof streamFields>>): boolean {
  if (options != null && !stream) {
    throw conflicting('stream_options', 'needs `stream`: set `stream` to true, or leave it out');
  }
  return options?.include_usage ?? false;
}
