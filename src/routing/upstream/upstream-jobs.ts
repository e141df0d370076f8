import { ServiceError } from '#base';
import { completeTimings, type Kind } from '#jobs';
import { upstreamChat } from './upstream-chat.ts';
import { upstreamDecision } from './upstream-decision.ts';
import { upstreamEmbedding } from './upstream-embedding.ts';
import { cutShort } from './upstream-failures.ts';
import { upstreamRerank } from './upstream-rerank.ts';
import type { RunOnServer } from './upstream-server.ts';
import { upstreamSpeech } from './upstream-speech.ts';
import { upstreamTranscription } from './upstream-transcription.ts';

/** How a server runs a job of each kind. */
const UPSTREAM: { [K in Kind]: RunOnServer<K> } = {
  chat: upstreamChat,
  embedding: upstreamEmbedding,
  transcription: upstreamTranscription,
  speech: upstreamSpeech,
  decision: upstreamDecision,
  rerank: upstreamRerank,
  // A server chooses tools itself.
  async *toolChoice() {},
};

/**
 * Runs a job on a server, counts it as running there, and aborts it when its reader leaves.
 * @throws ServiceError; the signal's reason when aborted
 */
export async function* runOnServer<K extends Kind>(
  ...[server, job, signal]: Parameters<RunOnServer<K>>
): ReturnType<RunOnServer<K>> {
  signal.throwIfAborted();
  const began = performance.now();
  const readerGone = new AbortController();
  server.running++;
  try {
    yield { type: 'stage', stage: 'sent' };
    const events = UPSTREAM[job.kind](server, job, AbortSignal.any([signal, readerGone.signal]));
    for await (const event of events) {
      if (event.type === 'done') completeTimings(event, 0, performance.now() - began);
      yield event;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ServiceError ? error : cutShort();
  } finally {
    server.running--;
    readerGone.abort();
  }
}
