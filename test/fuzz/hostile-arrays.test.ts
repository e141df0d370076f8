import { expect, test, vi } from 'vitest';

import type { JobOf, Kind } from '../../src/jobs/kinds.ts';
import { UpstreamServer } from '../../src/routing/upstream/upstream-server.ts';
import { runOnServer } from '../../src/routing/upstream/upstream-jobs.ts';
import { UpstreamError } from '../../src/routing/upstream/upstream-failures.ts';
import { stepsOf } from '../support/steps-of.ts';
import { ANSWER_KINDS, wrongArrays } from './hostile-arrays.ts';
import { chatJob } from '../support/chat-job.ts';
import { serverVariant } from '../support/catalogs.ts';
import { never } from '../support/never.ts';

/** The service worker answers no other tab meanwhile. */
const MAX_STEPS = 20e6;

/** Kinds that servers answer. */
type ServerKind = Exclude<Kind, 'toolChoice'>;

const JOBS: { [K in ServerKind]: JobOf<K> } = {
  chat: chatJob({ topLogprobs: 20 }),
  // As many, and of no known length: the answer may be as long as any.
  embedding: { kind: 'embedding', model: 'm', input: { texts: Array.from({ length: 84 }, () => 'hi') } },
  rerank: { kind: 'rerank', model: 'm', query: 'hi', documents: Array.from({ length: 1000 }, () => 'hi') },
  transcription: {
    kind: 'transcription',
    model: 'm',
    task: 'transcribe',
    file: new File(['sound'], 'a.wav'),
    times: ['segment'],
    stream: false,
    others: [],
  },
  speech: { kind: 'speech', model: 'm', text: 'hi', format: 'wav', speed: 1 },
  decision: {
    kind: 'decision',
    model: 'm',
    input: { text: 'hi' },
    questions: Array.from({ length: 400 }, () => ({ type: 'predicate', instructions: 'a', options: [] })),
    request: {},
  },
};

/** Just below the bounds of each: one event, or a whole answer. */
const SIZES: Record<ServerKind, number> = {
  chat: 2 ** 18,
  embedding: 2 ** 25,
  transcription: 2 ** 23,
  // Any bytes are sound.
  speech: 0,
  decision: 401 * 4096,
  rerank: 1001 * 4096,
};

async function read(kind: ServerKind, body: string): Promise<void> {
  const variant = serverVariant('s', 'https://site.example', { contextLength: 4096 });
  const server = new UpstreamServer(variant, undefined, () => {});
  vi.spyOn(server, 'post').mockResolvedValue(new Response(kind === 'chat' ? `data: ${body}\n\n` : body));
  const events = {
    chat: () => runOnServer(server, JOBS.chat, never),
    embedding: () => runOnServer(server, JOBS.embedding, never),
    transcription: () => runOnServer(server, JOBS.transcription, never),
    speech: () => runOnServer(server, JOBS.speech, never),
    rerank: () => runOnServer(server, JOBS.rerank, never),
    decision: () => runOnServer(server, JOBS.decision, never),
  }[kind]();
  for await (const event of events) void event;
}

test.each(ANSWER_KINDS)(
  'arrays of wrong elements in an answer are refused soon: %s',
  { timeout: 300_000 },
  async (kind) => {
    const slow: string[] = [];
    for (const [name, make] of wrongArrays(kind, SIZES[kind] - 1000)) {
      const body = make();
      const steps = await stepsOf(() =>
        read(kind, body).catch((error: unknown) => {
          if (!(error instanceof UpstreamError)) throw error;
        }),
      );
      if (steps > MAX_STEPS) slow.push(`${name}: ${steps} steps`);
    }
    expect(slow).toEqual([]);
  },
);
