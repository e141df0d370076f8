import { dropBody, unsupported } from '#base';
import { estimateTokens, type SpeechFormat } from '#jobs';
import { Deadline, streamBytes } from './read-answer.ts';
import { cutShort, without } from './upstream-failures.ts';
import type { RunOnServer } from './upstream-server.ts';

/** Half an hour of sound, uncompressed. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;
/** Time between two parts of the sound. */
const MAX_PAUSE_MS = 60_000;
/** Content types of pages and of errors. Some servers send sound without its type. */
const NO_SOUND = /^text\/|\b(?:json|xml)\b/i;

/** First bytes of the formats that have a sign, in Latin-1. Two bytes of `pcm` may be those of a frame. */
const SIGNS: readonly [SpeechFormat, RegExp][] = [
  ['wav', /^(?:RIFF|RF64)/],
  ['opus', /^OggS/],
  ['flac', /^fLaC/],
  ['aac', /^\xFF[\xF0\xF1\xF8\xF9]/],
  ['mp3', /^(?:ID3|\xFF[\xE2\xE3\xF2\xF3\xFA\xFB])/],
];

/** @throws ServiceError 400 for sound that begins as another format */
function checkFormat(bytes: Uint8Array, format: SpeechFormat): void {
  const start = String.fromCharCode(...bytes.subarray(0, 4));
  const [sent = format] = SIGNS.find(([, sign]) => sign.test(start)) ?? [];
  if (sent === format || (format === 'pcm' && start.startsWith('\xFF'))) return;
  const rule = `must be ${sent}: the server behind this model sends it in place of ${format}`;
  throw unsupported('response_format', rule);
}

/** Speaks a text on a server. `accepted` is sent with the first bytes: until then the next variant can answer unseen. */
export const upstreamSpeech: RunOnServer<'speech'> = async function* (server, job, signal) {
  const { fingerprint, variant } = server;
  const { text: input, voice = 'alloy', format: response_format, speed, instructions } = job;
  const body = { model: variant.model, input, voice, response_format, speed, instructions };
  const response = await server.post('/audio/speech', body, signal);
  if (NO_SOUND.test(response.headers.get('content-type') ?? '')) {
    dropBody(response);
    throw without('sound', response);
  }
  yield { type: 'stage', stage: 'prefill', servedBy: fingerprint };
  const deadline = new Deadline();
  deadline.set(MAX_PAUSE_MS, 'sent no sound');
  let isAccepted = false;
  for await (const bytes of streamBytes(response, MAX_BODY_BYTES, deadline)) {
    server.noteData();
    // The time that the reader takes does not count.
    deadline.clear();
    if (!isAccepted) {
      checkFormat(bytes, job.format);
      yield { type: 'accepted', fingerprint };
    }
    isAccepted = true;
    yield { type: 'delta', bytes, text: '' };
    deadline.set(MAX_PAUSE_MS, 'sent no sound');
  }
  if (!isAccepted) throw cutShort();
  const usage = { promptTokens: estimateTokens(input.length), cachedTokens: 0, completionTokens: 0 };
  yield { type: 'done', usage };
};
