import { expect, test, vi } from 'vitest';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import type { ToolChoiceEvent, ToolChoiceJob } from '../../../../src/jobs/tool-choice.ts';
import type { EmbeddingEvent } from '../../../../src/jobs/embedding.ts';
import type { Engine } from '../../../../src/engine-kit/engine.ts';
import { serveJob } from '../../../../src/engine-worker/requests/serve-job.ts';
import { JobPaused } from '../../../../src/scheduling/lease.ts';
import { createModelManager } from '../../../support/create-model-manager.ts';

const common = { license: 'MIT', contextLength: 9, files: [] };
const model = { created: 0 };
const catalog: Catalog = {
  ownedBy: 'us',
  models: [
    {
      ...model,
      id: 'chooses',
      kind: 'chat',
      variants: [{ ...common, engine: 'wllama', name: 'small', toolChooser: 'vectors' }],
    },
    { ...model, id: 'alone', kind: 'chat', variants: [{ ...common, engine: 'wllama', name: 'large' }] },
    {
      ...model,
      id: 'vectors',
      kind: 'embedding',
      variants: [{ ...common, engine: 'wllama', name: 'mini', dimensions: 1 }],
    },
  ],
};

const engineOf = (kind: 'chat' | 'embedding', failure?: Error): Engine => ({
  kind,
  fingerprint: kind,
  slots: 1,
  traits: {},
  async *run(job): AsyncGenerator<EmbeddingEvent> {
    if (failure) throw failure;
    const texts = job.kind === 'embedding' && 'texts' in job.input ? job.input.texts : [];
    const vectors = texts.map((text) => Float32Array.of(text.includes('weather') ? 1 : 0));
    yield { type: 'done', vectors, promptTokens: 1, fingerprint: kind };
  },
  unload: () => Promise.resolve(),
});

async function ask(id: string, isBroken = false, failure?: Error, times = 1) {
  const loaded: string[] = [];
  const models = createModelManager({
    catalog,
    load: async ({ name }) => {
      loaded.push(name);
      if (isBroken && name === 'mini') throw new Error('no such file');
      return name === 'mini' ? engineOf('embedding', failure) : engineOf('chat');
    },
  });
  const job: ToolChoiceJob = {
    kind: 'toolChoice',
    model: id,
    // The variants of the chat's model.
    variants: ['small', 'large'],
    message: 'the weather',
    before: '',
    tools: [{ name: 'weather' }, { name: 'other' }],
  };
  const events: ToolChoiceEvent[] = [];
  const sink = { onStage: () => undefined, send: (event: ToolChoiceEvent) => void events.push(event) };
  const { signal } = new AbortController();
  for (let asked = 0; asked < times; asked++)
    await serveJob<'toolChoice'>(models, { id: 'r', job, imageOrigins: [] }, signal, sink);
  return { loaded, scores: events.at(-1)?.scores };
}

test('the model that the variant of the chat names chooses the tool', async () => {
  const { loaded, scores } = await ask('chooses');
  expect(loaded).toEqual(['small', 'mini']);
  expect(scores).toHaveLength(3);
  expect(scores?.indexOf(Math.max(...scores))).toBe(0);
});

test('a variant that names none leaves the choice to its model, and loads nothing', async () => {
  expect(await ask('alone')).toEqual({ loaded: ['large'], scores: null });
});

test('a chooser that cannot be loaded leaves the choice to the model, and is not loaded for each request', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  expect(await ask('chooses', true, undefined, 2)).toEqual({ loaded: ['small', 'mini'], scores: null });
  expect(warn).toHaveBeenCalledTimes(2);
});

test('a choice that yields its slot to others is made later', async () => {
  await expect(ask('chooses', false, new JobPaused('Later.'))).rejects.toThrow(JobPaused);
});
