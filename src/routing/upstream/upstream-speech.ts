import { estimateTokens } from '#jobs';
import { Deadline, streamBytes } from './read-answer.ts';
import { cutShort, misshapen } from './upstream-failures.ts';
import type { RunOnServer } from './upstream-server.ts';

/** Half an hour of sound, uncompressed. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;
/** Time between two parts of the sound. */
const MAX_PAUSE_MS = 60_000;
/** Content types of pages and of errors. Some servers send sound without its type. */
const NO_SOUND = /^text\/|\b(?:json|xml)\b/i;

/** Speaks a text on a server. `accepted` is sent with the first bytes: until then the next variant can answer unseen. */
export const upstreamSpeech: RunOnServer<'speech'> = async function* (server, job, signal) {
  const { fingerprint, variant } = server;
  const { text: input, voice = 'alloy', format: response_format, speed, instructions } = job;
  const body = { model: variant.model, input, voice, response_format, speed, instructions };
  const response = await server.post('/audio/speech', body, signal);
  if (NO_SOUND.test(response.headers.get('content-type') ?? '')) {
    void response.body?.cancel().catch(() => undefined);
    throw misshapen('sound');
  }
  yield { type: 'stage', stage: 'prefill', servedBy: fingerprint };
  const deadline = new Deadline();
  const wait = (): void => deadline.set(MAX_PAUSE_MS, 'sent no sound');
  wait();
  let isAccepted = false;
  for await (const bytes of streamBytes(response, MAX_BODY_BYTES, deadline)) {
    server.noteData();
    // The time that the reader takes does not count.
    deadline.clear();
    if (!isAccepted) yield { type: 'accepted', fingerprint };
    isAccepted = true;
    yield { type: 'delta', bytes, text: '' };
    wait();
  }
  if (!isAccepted) throw cutShort();
  const usage = { promptTokens: estimateTokens(input.length), cachedTokens: 0, completionTokens: 0 };
  yield { type: 'done', usage };
};
