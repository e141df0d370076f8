import type { ChatUsage, TranscriptionEvent, TranscriptionJob } from '#jobs';
import { catch as orElse, z } from '#base/zod';
import { count, details, listOf, tokensOfText } from './answer-schemas.ts';
import { readAnswer } from './read-answer.ts';
import { readEvents } from './read-events.ts';
import { cutShort, misshapen } from './upstream-failures.ts';
import type { RunOnServer } from './upstream-server.ts';

/** Time between two events of a stream. */
const MAX_PAUSE_MS = 60_000;
/** Two hours of speech with the times of all words are some megabytes. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
const MAX_SEGMENTS = 20_000;
/** Two hours of sound, at 100 tokens a second. */
const MAX_SOUND_TOKENS = 720_000;
/** Speech at 6 kbit/s, the least that Opus takes, has 15 bytes for each of 50 tokens a second. */
const MIN_BYTES_A_TOKEN = 15;

const usageSchema = details({ input_tokens: count, output_tokens: count });
const cueSchema = z.looseObject({ start: z.number(), end: z.number(), text: z.string() });
const answerSchema = z.looseObject({
  text: z.string(),
  segments: z.optional(listOf(cueSchema, MAX_SEGMENTS)),
  words: z.optional(z.array(z.unknown())),
  usage: usageSchema,
});
const eventSchema = z.object({
  error: z.optional(z.unknown()),
  type: orElse(z.string(), ''),
  delta: z.optional(z.string()),
  text: z.optional(z.string()),
  usage: usageSchema,
});
type Usage = z.output<typeof usageSchema>;
type Answer = z.output<typeof answerSchema>;

const EVENT_STREAM = 'text/event-stream';
const DELTA = 'transcript.text.delta';
const DONE = 'transcript.text.done';

const isProgress = ({ type, delta }: z.output<typeof eventSchema>): boolean =>
  type === DONE || (type === DELTA && !!delta);

/**
 * Transcribes one file on a server. `accepted` is sent with the first text: until then the next variant can
 * answer unseen.
 */
export const upstreamTranscription: RunOnServer<'transcription'> = async function* (server, job, signal) {
  const { fingerprint } = server;
  const accepted: TranscriptionEvent = { type: 'accepted', fingerprint };
  const path = job.task === 'translate' ? '/audio/translations' : '/audio/transcriptions';
  const done = (answer: Answer, characters: number): TranscriptionEvent => ({
    type: 'done',
    transcript: { answer },
    usage: usageOf(answer.usage, characters, job.file.size),
  });
  const response = await server.post(path, formOf(job, server.variant.model), signal);
  yield { type: 'stage', stage: 'prefill', servedBy: fingerprint };
  if (!job.stream || !response.headers.get('content-type')?.includes(EVENT_STREAM)) {
    const answer = await readAnswer(response, answerSchema, 'a transcript', MAX_BODY_BYTES);
    if (job.times.some((each) => !answer[`${each}s`])) throw misshapen('a transcript');
    yield accepted;
    yield done(answer, answer.text.length);
    return;
  }
  const pace = { firstMs: MAX_PAUSE_MS, pauseMs: MAX_PAUSE_MS, noun: 'text', isProgress };
  let characters = 0;
  let isAccepted = false;
  for await (const event of readEvents(response, eventSchema, pace, () => server.noteData())) {
    if (!isProgress(event)) continue;
    if (!isAccepted) yield accepted;
    isAccepted = true;
    const { type, delta = '', text = '', usage } = event;
    characters += delta.length;
    if (type === DONE) {
      yield done({ text, usage }, Math.max(characters, text.length));
      return;
    }
    yield { type: 'delta', text: delta };
  }
  throw cutShort();
};

/** The client's form with the server's model, and with a response format that has all the answer needs. */
function formOf(job: TranscriptionJob, model: string): FormData {
  const { file, language, prompt, temperature, times, stream, others } = job;
  const form = new FormData();
  const fields = { language, prompt, temperature, ...(stream && { stream }) };
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) form.append(name, String(value));
  // The default is segments only.
  if (times.includes('word')) for (const each of times) form.append('timestamp_granularities[]', each);
  for (const [name, value] of others) form.append(name, value);
  form.set('response_format', times.length > 0 ? 'verbose_json' : 'json');
  form.set('model', model);
  form.set('file', file);
  return form;
}

const usageOf = (usage: Usage, characters: number, fileBytes: number): ChatUsage => ({
  promptTokens: Math.min(
    usage?.input_tokens ?? 0,
    MAX_SOUND_TOKENS,
    Math.ceil(fileBytes / MIN_BYTES_A_TOKEN),
  ),
  cachedTokens: 0,
  completionTokens: tokensOfText(usage?.output_tokens, characters),
});
