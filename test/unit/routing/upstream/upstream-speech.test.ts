import { beforeEach, expect, test, vi } from 'vitest';

import type { SpeechEvent, SpeechJob } from '../../../../src/jobs/speech.ts';
import type { StageEvent } from '../../../../src/protocol/service-dependencies.ts';
import type { UpstreamServer } from '../../../../src/routing/upstream/upstream-server.ts';
import { runOnServer } from '../../../../src/routing/upstream/upstream-jobs.ts';

const job: SpeechJob = { kind: 'speech', model: 'm', text: 'Hi', format: 'mp3', speed: 1 };

beforeEach(() => void vi.useFakeTimers());

/** Speaks on a server that answers with this body. */
function speak(body: BodyInit, type: string): AsyncGenerator<StageEvent | SpeechEvent, void, undefined> {
  const response = new Response(body, { headers: { 'content-type': type } });
  const server = { fingerprint: 's', variant: { model: 'tts' }, running: 0, post: async () => response };
  const noteData = (): void => undefined;
  return runOnServer({ ...server, noteData } as unknown as UpstreamServer, job, new AbortController().signal);
}

async function typesOf(events: AsyncIterable<StageEvent | SpeechEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  return types;
}

test('sound is passed on as it is', async () => {
  const types = await typesOf(speak('sound', 'audio/mpeg'));
  expect(types).toEqual(['stage', 'stage', 'accepted', 'delta', 'done']);
});

test('a client that reads for minutes gets the rest', async () => {
  const events = speak(
    new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode('sound'));
        if (++parts === 3) controller.close();
      },
    }),
    'audio/mpeg',
  );
  let parts = 0;
  let deltas = 0;
  for await (const { type } of events) {
    if (type !== 'delta') continue;
    deltas++;
    await vi.advanceTimersByTimeAsync(120_000);
  }
  expect(deltas).toBe(3);
});

test.each([
  ['nothing', '', 'audio/mpeg'],
  ['a page', '<html>', 'text/html'],
  ['an error', '{"error":"no such voice"}', 'application/json'],
  ['a problem', '{"title":"no such voice"}', 'application/problem+json'],
])('%s is not sound: the next variant answers', async (_, body, type) => {
  const events = typesOf(speak(body, type));
  await expect(events).rejects.toMatchObject({ wire: { code: 'upstream_failed' } });
});
