import * as z from '../../../util/zod.ts';

import { requestError, type ServiceError } from '../../../errors/service-error.ts';

const GRANULARITIES = ['segment', 'word'] as const;
const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
/** Far more than the 224 tokens that the model sees of it. */
const MAX_PROMPT = 10_000;

export interface FormFields {
  /** Code of two or three letters; null: not given. */
  language: string | null;
  prompt: string;
  format: (typeof FORMATS)[number];
  temperature: number;
  stream: boolean;
  granularities: readonly (typeof GRANULARITIES)[number][];
}

const oneOf = (values: readonly string[]): string => `must be one of ${values.join(', ')}`;
const text = z.string();
const flag = z.enum(['true', 'false'], 'must be true or false');

const GRANULARITY_FIELD = 'timestamp_granularities[]';

/** Each field's rule. Fields that OpenAI does not have are ignored, as in its service. */
const schema = z.object({
  language: z.optional(text.check(z.regex(/^[a-z]{2,3}$/i, 'must be a code of ISO 639-1, such as `en`'))),
  prompt: z.optional(text.check(z.maxLength(MAX_PROMPT, `must have at most ${MAX_PROMPT} characters`))),
  response_format: z.optional(z.enum(FORMATS, oneOf(FORMATS))),
  temperature: z.optional(
    text.check(z.regex(/^(0(\.\d{1,10})?|1(\.0{1,10})?|\.\d{1,10})$/, 'must be a number from 0 to 1')),
  ),
  [GRANULARITY_FIELD]: z.optional(z.enum(GRANULARITIES, oneOf(GRANULARITIES))),
  stream: z.optional(flag),
});

/** Fields of OpenAI's that would change the answer, and why they cannot. */
const REFUSED: Record<string, string> = {
  'include[]': 'cannot be used here: log probabilities of a transcription are in `verbose_json`',
  'known_speaker_names[]': 'cannot be used here: speakers are not distinguished',
  'known_speaker_references[]': 'cannot be used here: speakers are not distinguished',
};

/** Clients send a list as `name[]`, or with numbers in the brackets. */
const nameOf = (name: string): string =>
  /^(timestamp_granularities|include|known_speaker_\w+)(\[\d*\])?$/.test(name)
    ? `${name.replace(/\[.*/, '')}[]`
    : name;

/** @throws ServiceError 400 that names the field */
export function parseFields(given: readonly (readonly [name: string, value: string])[]): FormFields {
  const fields: Record<string, string> = {};
  const asked = new Set<string>();
  for (const [name, value] of given) {
    const known = nameOf(name);
    const refused = Object.hasOwn(REFUSED, known) ? REFUSED[known] : undefined;
    if (refused !== undefined) throw wrong(known, refused, 'unsupported_value');
    // A list has one rule for all of its values.
    const parsed = schema.safeParse({ [known]: value });
    if (!parsed.success) throw wrong(known, parsed.error.issues[0]?.message ?? 'is not valid');
    if (known === GRANULARITY_FIELD) asked.add(value);
    fields[known] = value;
  }
  const { language, prompt = '', response_format: format, temperature, stream } = schema.parse(fields);
  if (stream === 'true' && format !== undefined && format !== 'json' && format !== 'text') {
    throw wrong(
      'stream',
      `cannot be true with \`response_format\` ${format}: use json`,
      'invalid_parameter_combination',
    );
  }
  if (asked.size > 0 && format !== 'verbose_json') {
    throw wrong(
      GRANULARITY_FIELD,
      'requires `response_format` verbose_json',
      'invalid_parameter_combination',
    );
  }
  return {
    language: language?.toLowerCase() ?? null,
    prompt,
    format: format ?? 'json',
    temperature: Number(temperature ?? 0),
    stream: stream === 'true',
    granularities: asked.size === 0 ? ['segment'] : GRANULARITIES.filter((each) => asked.has(each)),
  };
}

function wrong(
  field: string,
  rule: string,
  code: 'invalid_value' | 'unsupported_value' | 'invalid_parameter_combination' = 'invalid_value',
): ServiceError {
  return requestError(400, `\`${field}\` ${rule}.`, code, field);
}
