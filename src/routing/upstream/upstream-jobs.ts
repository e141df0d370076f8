import type { EventOf, JobOf, Kind } from '#jobs';
import type { StageEvent } from '#protocol';
import { upstreamChat } from './upstream-chat.ts';
import { upstreamDecision } from './upstream-decision.ts';
import { upstreamEmbedding } from './upstream-embedding.ts';
import { upstreamRerank } from './upstream-rerank.ts';
import type { UpstreamServer } from './upstream-server.ts';
import { upstreamSpeech } from './upstream-speech.ts';
import { upstreamTranscription } from './upstream-transcription.ts';

/** How a server runs a job of each kind. */
export const UPSTREAM: {
  [K in Kind]: (
    server: UpstreamServer,
    job: JobOf<K>,
    signal: AbortSignal,
  ) => AsyncIterable<StageEvent | EventOf<K>>;
} = {
  chat: upstreamChat,
  embedding: upstreamEmbedding,
  transcription: upstreamTranscription,
  speech: upstreamSpeech,
  decision: upstreamDecision,
  rerank: upstreamRerank,
  // A server chooses tools itself.
  async *toolChoice() {},
};
