import { beforeEach, expect, test, vi } from 'vitest';

import type { SpeechEvent, SpeechJob } from '../../../../src/jobs/speech.ts';
import type { StageEvent } from '../../../../src/protocol/service-dependencies.ts';
import type { UpstreamServer } from '../../../../src/routing/upstream/upstream-server.ts';
import { runOnServer } from '../../../../src/routing/upstream/upstream-jobs.ts';

const job: SpeechJob = { kind: 'speech', model: 'm', text: 'Hi', format: 'mp3', speed: 1 };

beforeEach(() => void vi.useFakeTimers());

/** Speaks on a server that answers with this body. */
function speak(body: BodyInit, type: string, format: SpeechJob['format'] = 'mp3') {
  const response = new Response(body, { headers: { 'content-type': type } });
  const server = { fingerprint: 's', variant: { model: 'tts' }, running: 0, post: async () => response };
  const noteData = (): void => undefined;
  const lent = { ...server, noteData } as unknown as UpstreamServer;
  return runOnServer(lent, { ...job, format }, new AbortController().signal);
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
  let parts = 0;
  const pull = (controller: ReadableStreamDefaultController): void => {
    controller.enqueue(new TextEncoder().encode('sound'));
    if (++parts === 3) controller.close();
  };
  const events = speak(new ReadableStream({ pull }), 'audio/mpeg');
  let deltas = 0;
  for await (const { type } of events) {
    if (type !== 'delta') continue;
    deltas++;
    await vi.advanceTimersByTimeAsync(120_000);
  }
  expect(deltas).toBe(3);
});

test('a server that sends a byte before each deadline has an hour', async () => {
  const drip = async (controller: ReadableStreamDefaultController): Promise<void> => {
    await vi.advanceTimersByTimeAsync(50_000);
    controller.enqueue(new TextEncoder().encode('s'));
  };
  const message = expect.stringContaining('did not end its answer in an hour') as string;
  const sound = new ReadableStream({ pull: drip }, { highWaterMark: 0 });
  await expect(typesOf(speak(sound, 'audio/mpeg'))).rejects.toMatchObject({ wire: { message } });
});

test.each([
  ['nothing', '', 'audio/mpeg', 'too early'],
  ['a page', '<html>', 'text/html', 'without sound (content type: text/html)'],
  ['an error', '{"error":"no such voice"}', 'application/json', 'without sound'],
  ['a problem', '{"title":"no such voice"}', 'application/problem+json', 'without sound'],
])('%s is not sound: the next variant answers', async (_, body, type, says) => {
  const wire = { code: 'upstream_failed', message: expect.stringContaining(says) as string };
  await expect(typesOf(speak(body, type))).rejects.toMatchObject({ wire });
});

test.each([
  ['wav', 'RIFF', 'mp3'],
  ['mp3', 'ID3\x04', 'wav'],
  ['aac', '\xFF\xF1\x50\x80', 'mp3'],
  ['flac', 'fLaC', 'opus'],
  ['wav', 'RIFF', 'pcm'],
  [null, '\xFF\xFB\x90\x64', 'pcm'],
  [null, '\xFF\xF3\x84\xC4', 'mp3'],
] as const)('sound that begins as %s (%j), where %s was asked for', async (sent, start, format) => {
  const events = typesOf(speak(Buffer.from(`${start}rest`, 'latin1'), 'audio/mpeg', format));
  if (sent === null) return void (await expect(events).resolves.toContain('done'));
  const message = expect.stringContaining(`must be ${sent}`) as string;
  await expect(events).rejects.toMatchObject({ wire: { status: 400, param: 'response_format', message } });
});
