import { conflicting, invalidField } from '../../errors/service-error.ts';
import type { Granularity, TranscriptionJob } from '../../jobs/transcription.ts';
import * as z from '../../util/zod.ts';

const GRANULARITIES = ['segment', 'word'] as const satisfies readonly Granularity[];
const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
/** Far more than the 224 tokens that the model sees of it. */
const MAX_PROMPT = 10_000;

export type Format = (typeof FORMATS)[number];

export interface FormFields {
  format: Format;
  /** The fields that the engine needs. */
  job: Pick<TranscriptionJob, 'language' | 'prompt' | 'temperature' | 'times' | 'stream' | 'others'>;
}

const oneOf = (values: readonly string[]): string => `must be one of ${values.join(', ')}`;
const text = z.string();

const GRANULARITY_FIELD = 'timestamp_granularities[]';

/** The rule of each field that OpenAI documents for Whisper. */
const schema = z.object({
  language: z.optional(text.check(z.regex(/^[a-z]{2,3}$/i, 'must be a code of ISO 639-1, such as `en`'))),
  prompt: z.optional(text.check(z.maxLength(MAX_PROMPT, `must have at most ${MAX_PROMPT} characters`))),
  response_format: z.optional(z.enum(FORMATS, oneOf(FORMATS))),
  temperature: z.optional(
    text.check(z.regex(/^(0(\.\d{1,10})?|1(\.0{1,10})?|\.\d{1,10})$/, 'must be a number from 0 to 1')),
  ),
  [GRANULARITY_FIELD]: z.optional(z.array(z.enum(GRANULARITIES, oneOf(GRANULARITIES)))),
  stream: z.optional(z.enum(['true', 'false'], 'must be true or false')),
});

/** Clients send a list as `name[]`, or with numbers in the brackets. */
const nameOf = (name: string): string =>
  /^(timestamp_granularities|include|known_speaker_\w+)(\[\d*\])?$/.test(name)
    ? `${name.replace(/\[.*/, '')}[]`
    : name;

/** Fields that only servers know are passed on. @throws ServiceError 400 that names the field */
export function parseFields(pairs: readonly (readonly [name: string, value: string])[]): FormFields {
  const fields: Record<string, string | string[]> = {};
  const others: [string, string][] = [];
  const sentGranularities: string[] = [];
  for (const [sent, value] of pairs) {
    const name = nameOf(sent);
    if (name === GRANULARITY_FIELD) sentGranularities.push(value);
    else if (Object.hasOwn(schema.shape, name)) fields[name] = value;
    else if (name !== 'model' && name !== 'file') others.push([name, value]);
  }
  if (sentGranularities.length > 0) fields[GRANULARITY_FIELD] = sentGranularities;
  const parsed = schema.safeParse(fields);
  if (!parsed.success) {
    const { path = [], message = 'is not valid' } = parsed.error.issues[0] ?? {};
    throw invalidField(String(path[0]), message);
  }
  const { language, prompt, response_format: format = 'json', temperature } = parsed.data;
  const stream = parsed.data.stream === 'true';
  const granularities = parsed.data[GRANULARITY_FIELD] ?? [];
  if (stream && format !== 'json' && format !== 'text')
    throw conflicting('stream', `cannot be true with \`response_format\` ${format}: use json`);
  if (granularities.length > 0 && format !== 'verbose_json')
    throw conflicting(GRANULARITY_FIELD, 'requires `response_format` verbose_json');
  const timed = GRANULARITIES.filter((each) => granularities.includes(each));
  const needsTimes = format !== 'json' && format !== 'text' && timed.length === 0;
  return {
    format,
    job: {
      ...(language !== undefined && { language: language.toLowerCase() }),
      ...(prompt !== undefined && { prompt }),
      ...(temperature !== undefined && { temperature: Number(temperature) }),
      times: needsTimes ? ['segment'] : timed,
      stream,
      others,
    },
  };
}
