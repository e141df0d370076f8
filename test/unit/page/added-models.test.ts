import { beforeEach, expect, test, vi } from 'vitest';

import { AddedModels } from '../../../src/page/added-models-handle.ts';
import { ElectionMember } from '../../../src/page/election/election-member.ts';
import type { EngineSettings } from '../../../src/page/election/engine-worker.ts';
import { engineCommands } from '../../../src/page/engine-commands.ts';
import { listenDirectly } from '../../../src/protocol/discovery.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

const scope = '/added-models-test';

beforeEach(() => vi.stubGlobal('navigator', { locks: new FakeLocks().manager }));

/** A tab that does not lead. The one that leads does not answer: only an abort ends a command. */
const member = new ElectionMember(scope, {} as EngineSettings);

const source = { url: 'https://example.com/owl.gguf', sha256: 'a' };

test.each([
  ['offers()', (models: AddedModels, signal: AbortSignal) => models.offers('owner/name', { signal })],
  ['inspect()', (models: AddedModels, signal: AbortSignal) => models.inspect(source, { signal })],
  ['add()', (models: AddedModels, signal: AbortSignal) => models.add(source, { signal })],
])('%s ends at its signal, and when the page leaves', async (_name, call) => {
  vi.stubGlobal('document', { baseURI: 'https://example.com/' });
  const called = vi.fn();
  const calls = listenDirectly(scope, called);
  for (const which of ['given', 'stopped'] as const) {
    const ends = { given: new AbortController(), stopped: new AbortController() };
    called.mockClear();
    const result = call(
      new AddedModels(scope, engineCommands(member, ends.stopped.signal)),
      ends.given.signal,
    );
    await vi.waitFor(() => expect(called).toHaveBeenCalled());
    const reason = new Error(which);
    ends[which].abort(reason);
    await expect(result).rejects.toBe(reason);
  }
  calls.close();
});

test.each([
  ['https://a.test/owl.gguf', /must be a File/],
  [{ url: 'http://', sha256: 'a' }, 'the engine refuses it'],
])('a source %j is told as such, or by the engine', async (given, message) => {
  vi.stubGlobal('document', { baseURI: 'https://example.com/' });
  const models = new AddedModels(scope, () => Promise.reject(new Error('the engine refuses it')));
  await expect(models.inspect(given as never)).rejects.toThrow(message);
});

test('add() asks for persistent storage at once, as a click allows it for a moment', async () => {
  const persist = vi.fn(async () => true);
  vi.stubGlobal('navigator', { storage: { persist } });
  vi.stubGlobal('document', { baseURI: 'https://example.com/' });
  const models = new AddedModels(scope, () => Promise.reject(new Error('no engine')));
  const adding = models.add(source);
  expect(persist).toHaveBeenCalledTimes(1);
  await expect(adding).rejects.toThrow('no engine');
});
