import * as z from '#base/zod';
import { SPEECH_FORMATS } from '#jobs';
import { text } from '../body/fields.ts';

/** Maximum characters of a text: half an hour of speech. OpenAI takes 4,096. */
const MAX_INPUT = 20_000;
const MAX_INSTRUCTIONS = 4096;

const voiceName = z.string().check(z.minLength(1), z.maxLength(64));

const enforced = {
  model: z.string(),
  input: z.string().check(z.minLength(1), z.maxLength(MAX_INPUT)),
  voice: z.nullish(z.union([voiceName, z.object({ id: voiceName })], 'must be the name of a voice')),
  response_format: z.nullish(z.enum(SPEECH_FORMATS)),
  speed: z.nullish(z.number().check(z.gte(0.25), z.lte(4))),
  stream_format: z.nullish(z.enum(['audio', 'sse'])),
};

/** How to speak: servers follow it, voices on the device do not. */
const ignored = { instructions: z.nullish(z.string().check(z.maxLength(MAX_INSTRUCTIONS))), user: text };

export const speechRules = { fields: { enforced, ignored }, schema: z.object({ ...enforced, ...ignored }) };

export type SpeechBody = z.infer<typeof speechRules.schema>;
