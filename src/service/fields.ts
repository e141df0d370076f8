import * as z from 'zod/mini';

/** Fields that several endpoints share. */

const between = (low: number, high: number) => z.nullish(z.number().check(z.gte(low), z.lte(high)));
export const atLeastOne = z.nullish(z.int().check(z.gte(1)));
export const flag = z.nullish(z.boolean());
export const text = z.nullish(z.string());

/** Most choices of one request. */
const MAX_CHOICES = 128;
const MAX_STOP_SEQUENCES = 4;
const stopSequence = z.string().check(z.minLength(1));

export const choicesField = z.nullish(z.int().check(z.gte(1), z.lte(MAX_CHOICES)));

export const stopField = z.nullish(
  z.union([stopSequence, z.array(stopSequence).check(z.maxLength(MAX_STOP_SEQUENCES))], {
    error: `must be a string, not empty, or an array of at most ${MAX_STOP_SEQUENCES} of them`,
  }),
);

export const streamOptions = z.nullish(z.object({ include_usage: flag }));

export const metadata = z.nullish(z.record(z.string(), z.string()));

/** Passed on to the engine. */
export const temperatureFields = { temperature: between(0, 2), top_p: between(0, 1) };

export const samplingFields = {
  ...temperatureFields,
  seed: z.nullish(z.int()),
  presence_penalty: between(-2, 2),
  frequency_penalty: between(-2, 2),
  logit_bias: z.nullish(
    z.record(
      z.string().check(z.regex(/^\d{1,9}$/)),
      z.number().check(z.gte(-100), z.lte(100)),
      'must map token ids to numbers from -100 to 100',
    ),
  ),
};

export const schemaFormatFields = {
  name: z
    .string()
    .check(z.regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores and hyphens')),
  description: text,
  schema: z.nullish(z.record(z.string(), z.unknown())),
  strict: flag,
};
