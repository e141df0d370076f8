import { expect, test, vi } from 'vitest';

import type { Catalog, Variant } from '../../../../src/catalog/catalog.ts';
import { ServiceError } from '../../../../src/base/errors/service-error.ts';
import type { ChatEvent, ChatJob } from '../../../../src/jobs/chat.ts';
import type { EmbeddingJob } from '../../../../src/jobs/embedding.ts';
import type { RerankJob } from '../../../../src/jobs/rerank.ts';
import type { ModelManager } from '../../../../src/models/model-manager.ts';
import type { Plan } from '../../../../src/models/variant-choice.ts';
import { serveJob } from '../../../../src/engine-worker/requests/serve-job.ts';
import type { Engine } from '../../../../src/engine-kit/engine.ts';
import { createDeferred } from '../../../../src/base/async.ts';
import { PICTURES } from '../../../support/vision/pictures.ts';
import { createModelManager } from '../../../support/create-model-manager.ts';
import { chatJob } from '../../../support/chat-job.ts';
import { rerankJob } from '../../../support/rerank-job.ts';
import { never } from '../../../support/never.ts';

const common = { license: 'MIT', contextLength: 9, files: [] };
const builtIn: Variant = { ...common, engine: 'built-in', name: 'built-in' };
const small: Variant = { ...common, engine: 'wllama', name: 'small' };

const refused = (code: 'unsupported_value' | 'engine_crashed') =>
  new ServiceError({ status: 400, param: 'seed', message: 'no seed', code, passOn: true });

function engineOf({ name, engine }: Variant, error: ServiceError): Engine<'chat'> {
  return {
    kind: 'chat',
    fingerprint: name,
    slots: 1,
    traits: {},
    async *run(): AsyncGenerator<ChatEvent, void, undefined> {
      if (engine === 'built-in') throw error;
      yield { type: 'accepted', accepted: { promptTokens: 1, fingerprint: name } };
    },
    unload: () => Promise.resolve(),
  };
}

function manager(variants: Variant[], error = refused('unsupported_value')) {
  const loaded: string[] = [];
  const catalog: Catalog = { ownedBy: 'us', models: [{ id: 'm', kind: 'chat', created: 0, variants }] };
  const plans: string[] = [];
  let available = true;
  const plan = async (_: unknown, faults: ReadonlyMap<string, string>): Promise<Plan> => {
    plans.push([...faults.values()].join());
    const candidates = variants.filter(
      ({ name, engine }) => !faults.has(name) && (available || engine !== 'built-in'),
    );
    return { candidates, reasons: [] };
  };
  const models = createModelManager({
    catalog,
    load: async (variant) => {
      loaded.push(variant.name);
      return engineOf(variant, error);
    },
    plan,
  });
  return { models, loaded, plans, setAvailable: (value: boolean) => (available = value) };
}

async function ask(models: ModelManager, more: Partial<ChatJob> = {}) {
  const events: ChatEvent[] = [];
  await serveJob(models, { id: 'r', job: chatJob(more), imageOrigins: [] }, never, {
    onStage: () => undefined,
    send: (event) => void events.push(event),
  });
  return events;
}

test('a request that a variant cannot do is answered by the next one, in the same call', async () => {
  const { models, loaded } = manager([builtIn, small]);
  const answer = [{ type: 'accepted', accepted: { fingerprint: 'small' } }];
  expect(await ask(models)).toMatchObject(answer);
  expect(await ask(models)).toMatchObject(answer);
  expect(loaded).toEqual(['built-in', 'small']);
});

test.each<EmbeddingJob | RerankJob>([
  { kind: 'embedding', model: 'm', input: { texts: ['a'] } },
  rerankJob('a', ['b']),
])('an engine that embeds knows the client of a $kind', async (job) => {
  const clients: (string | undefined)[] = [];
  const engine: Engine<'embedding'> = {
    kind: 'embedding',
    fingerprint: 'f',
    slots: 1,
    traits: {},
    async *run({ client, input }) {
      clients.push(client);
      const vectors = ('texts' in input ? input.texts : []).map(() => Float32Array.of(1));
      yield { type: 'done', vectors, promptTokens: 0, fingerprint: 'f' };
    },
    unload: () => Promise.resolve(),
  };
  const models = createModelManager({
    catalog: { ownedBy: 'us', models: [{ id: 'm', kind: 'embedding', created: 0, variants: [small] }] },
    load: async () => engine,
  });
  const send = vi.fn();
  const origin = { client: 'c', request: 'r' };
  const request = { id: 'r', job, imageOrigins: [], origin };
  await serveJob(models, request, never, { onStage: () => undefined, send });
  expect(clients).toEqual(['c']);
  // The times that the engine does not tell are added.
  const ms = expect.any(Number) as number;
  expect(send.mock.calls).toMatchObject([[{ type: 'done', timings: { queueMs: ms, computeMs: ms } }]]);
});

test('where no other variant may answer, the error names the field', async () => {
  const wire = { status: 400, param: 'seed' };
  await expect(ask(manager([builtIn]).models)).rejects.toMatchObject({ wire });
  const limited = ask(manager([small, builtIn]).models, { variants: ['built-in'] });
  await expect(limited).rejects.toMatchObject({ wire });
});

test("the browser's own model is left alone after two failures", async () => {
  const { models, loaded, plans } = manager([builtIn, small], refused('engine_crashed'));
  for (let asked = 0; asked < 4; asked++) await ask(models);
  expect(loaded).toEqual(['built-in', 'small', 'built-in']);
  expect(plans.at(-1)).toBe('failed 2 times');
});

test('who loads the model by name finds what the browser has by now', async () => {
  const { models, setAvailable } = manager([builtIn, small]);
  setAvailable(false);
  expect((await models.ready('m', never)).variant).toBe(small);
  setAvailable(true);
  expect((await models.ready('m', never)).variant).toBe(small);
  expect((await models.ready('m', never, { replan: true })).variant).toBe(builtIn);
});

test('a load ends with the last request that waits for it, though others were refused', async () => {
  const signals: AbortSignal[] = [];
  const aborts: AbortController[] = [];
  const models = createModelManager({
    catalog: { ownedBy: 'us', models: [{ id: 'm', kind: 'chat', created: 0, variants: [small] }] },
    load: (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    },
  });
  const turnedAway = new Set<AbortController>();
  const requests = Array.from({ length: 80 }, async (_, id) => {
    const abort = new AbortController();
    const reader = { onStage: () => undefined, send: () => undefined };
    const request = { id: `${id}`, job: chatJob(), imageOrigins: [] };
    aborts.push(abort);
    await serveJob<'chat'>(models, request, abort.signal, reader).catch(() => turnedAway.add(abort));
  });
  // One has the slot, and 64 wait for it.
  await vi.waitFor(() => expect(turnedAway.size).toBe(15));
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  for (const abort of aborts) if (!turnedAway.has(abort)) abort.abort();
  await Promise.all(requests);
  await vi.waitFor(() => expect(signals.map(({ aborted }) => aborted)).toEqual([true]));
});

test('an image that is fetched slowly holds no slot', async () => {
  const { models } = manager([small]);
  const fetched = createDeferred();
  vi.stubGlobal('location', { origin: 'https://site.example' });
  vi.stubGlobal('fetch', async () => {
    await fetched.promise;
    return new Response(new Uint8Array(PICTURES[0] ?? []));
  });
  const images = [{ at: 0, url: '/slow.png', param: 'messages[0].content[0]' }];
  const slow = ask(models, { input: { messages: [{ role: 'user', content: '', images }] } });
  expect(await ask(models)).toHaveLength(1);
  fetched.resolve();
  expect(await slow).toHaveLength(1);
});
