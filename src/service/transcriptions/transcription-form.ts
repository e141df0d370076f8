import { conflicting, invalidField, requestError, type ServiceError, omitNulls } from '#base';
import type { Granularity, TranscriptionJob } from '#jobs';
import * as z from '#base/zod';
import { readBytes } from '../body/request-body.ts';
import { WITH_RULES } from '../body/schema-issues.ts';
import type { Exchange } from '../http/exchange.ts';

const GRANULARITIES = ['segment', 'word'] as const satisfies readonly Granularity[];
const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
/** Maximum characters of a prompt: far more than the 224 tokens that the model reads. */
const MAX_PROMPT = 10_000;

export type Format = (typeof FORMATS)[number];

export interface FormFields {
  format: Format;
  /** The fields that the engine needs. */
  job: Pick<TranscriptionJob, 'language' | 'prompt' | 'temperature' | 'times' | 'stream' | 'others'>;
}

const text = z.string();

const GRANULARITY_FIELD = 'timestamp_granularities[]';

/** Whether a text is a decimal from 0 to 1, such as `0.30000000000000004` and `1e-7`. */
const isTemperature = (value: string): boolean =>
  /^[\d.e+-]{1,32}$/i.test(value) && Number(value) >= 0 && Number(value) <= 1;

/** The rule of each field that OpenAI documents for Whisper. */
const schema = z.object({
  language: z.optional(
    text.check(z.regex(/^[a-z]{2,3}$/i, 'must be a code of ISO 639-1, such as `en`'), z.toLowerCase()),
  ),
  prompt: z.optional(text.check(z.maxLength(MAX_PROMPT))),
  response_format: z.optional(z.enum(FORMATS)),
  temperature: z.optional(
    z.pipe(text.check(z.refine(isTemperature, 'must be a number from 0 to 1')), z.transform(Number)),
  ),
  [GRANULARITY_FIELD]: z.array(z.enum(GRANULARITIES)),
  stream: z.optional(z.enum(['true', 'false'])),
});

const OWN_FIELDS = new Set([...Object.keys(schema.shape), 'model', 'file']);

/** Unifies the name of a list: clients write `name[]`, or a number in the brackets. */
const nameOf = (name: string): string =>
  /^(timestamp_granularities|include|known_speaker_\w+)(\[\d*\])?$/.test(name)
    ? `${name.replace(/\[.*/, '')}[]`
    : name;

/**
 * Parses the fields. Those that only servers know are passed on.
 * @throws ServiceError 400 that names the field
 */
export function parseFields(pairs: readonly (readonly [name: string, value: string])[]): FormFields {
  const named = pairs.map(([name, value]): [string, string] => [nameOf(name), value]);
  const listed = named.filter(([name]) => name === GRANULARITY_FIELD).map(([, value]) => value);
  const sent = { ...Object.fromEntries(named), [GRANULARITY_FIELD]: listed };
  const { data: fields, error } = schema.safeParse(sent, WITH_RULES);
  if (!fields) {
    const { path = [], message = 'is not valid' } = error.issues[0] ?? {};
    throw invalidField(String(path[0]), message);
  }
  const { language, prompt, response_format: format = 'json', temperature } = fields;
  const stream = fields.stream === 'true';
  const granularities = fields[GRANULARITY_FIELD];
  const isPlain = format === 'json' || format === 'text';
  if (stream && !isPlain)
    throw conflicting('stream', `cannot be true with \`response_format\` ${format}: use json`);
  if (granularities.length > 0 && format !== 'verbose_json')
    throw conflicting(GRANULARITY_FIELD, 'requires `response_format` verbose_json');
  const timed = GRANULARITIES.filter((each) => granularities.includes(each));
  return {
    format,
    job: {
      ...omitNulls({ language, prompt, temperature }),
      times: isPlain || timed.length > 0 ? timed : ['segment'],
      stream,
      others: named.filter(([name]) => !OWN_FIELDS.has(name)),
    },
  };
}

/** Maximum size of a form: a file of 25 MiB, the other fields and the parts' headers. */
const MAX_FORM_BYTES = 25.25 * 1024 * 1024;
const MAX_PARTS = 100;

export interface TranscriptionForm extends FormFields {
  model: string;
  file: Blob;
}

/** Rules of the body. `formData()` would also parse a urlencoded body, whose fields have no bound. */
const BODY = {
  types: /^multipart\/form-data\s*;/i,
  typeRule: 'must be multipart/form-data with a boundary',
  maxBytes: MAX_FORM_BYTES,
  remedy: 'Send a shorter file',
};

/** The form of a request, bounded before it is parsed. @throws ServiceError 400, 413 */
export async function readForm(exchange: Exchange): Promise<TranscriptionForm> {
  const bytes = await readBytes(exchange, BODY);
  if (countParts(bytes) > MAX_PARTS) throw badForm(`has more than ${MAX_PARTS} parts`);
  const headers = { 'content-type': exchange.request.headers.get('content-type') ?? '' };
  const form = await new Response(bytes, { headers }).formData().catch(() => {
    const rule =
      'is no complete form: a name, a `filename` or a boundary as its content type has it is missing';
    throw badForm(rule);
  });
  const fields: [string, string][] = [];
  for (const [name, value] of form)
    if (typeof value === 'string') fields.push([name, value]);
    else if (name !== 'file' && OWN_FIELDS.has(nameOf(name)))
      throw invalidField(name, 'must be text, not a file');
  const { model, stream } = Object.fromEntries(fields);
  const [file, second] = form.getAll('file');
  exchange.trace.body(JSON.stringify(fields), { model, stream: stream === 'true' });
  if (model === undefined) throw missing('model');
  if (file === undefined) throw missing('file');
  if (second) throw invalidField('file', 'is there twice: a form has one file');
  if (!(file instanceof Blob))
    throw invalidField('file', 'must be a file with a name (curl: `-F file=@a.wav`)');
  return { model, file, ...parseFields(fields) };
}

/**
 * Estimates the number of parts: each follows a line that begins with two hyphens, which are rare in random
 * bytes.
 */
function countParts(bytes: Uint8Array): number {
  let parts = 0;
  for (let at = 0; at >= 0; at = bytes.indexOf(10, at + 1))
    if (bytes[at + 1] === 45 && bytes[at + 2] === 45) parts++;
  return parts;
}

const badForm = (rule: string): ServiceError => requestError(400, `The request body ${rule}.`);

const missing = (param: string): ServiceError =>
  invalidField(param, 'is required in the form', 'missing_required_parameter');
