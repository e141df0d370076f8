import { expect, test, vi } from 'vitest';
import type { Variant } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import type { ModelFacts } from '../../../src/protocol/model-facts.ts';
import { factsWriter, modelFacts } from '../../../src/models/engine-facts.ts';
import type { ModelManager } from '../../../src/models/model-manager.ts';
import { ENGINES } from '../../../src/engines/index.ts';
import type { Engine } from '../../../src/engine-kit/engine.ts';
import { createModelManager } from '../../support/create-model-manager.ts';
import { never } from '../../support/never.ts';

const id = 'amber-phoenix-4';

const loaded: Engine<'chat'> = {
  fingerprint: 'f',
  kind: 'chat',
  slots: 1,
  traits: { thinks: true },
  async *run() {},
  unload: async () => undefined,
};

/** Plans the variants of that engine alone, and loads an engine that thinks. */
const manager = (engine: string, onChange = () => undefined): ModelManager =>
  createModelManager({
    catalog: defaultCatalog,
    load: async () => loaded,
    onChange,
    plan: async ({ variants }) => ({
      candidates: variants.filter((each) => each.engine === engine || each.engine === 'transformers'),
      reasons: [],
    }),
  });

const bytesOf = async ({ files }: { files: readonly { bytes: number }[] }): Promise<number | null> =>
  files.length === 0 ? null : files.reduce((sum, { bytes }) => sum + bytes, 0);

test('facts are of the variant that was chosen, and of none before', async () => {
  const models = manager('wllama');
  expect(await models.facts(bytesOf)).toEqual({});
  await models.plan();
  const facts = await models.facts(bytesOf);
  expect(facts[id]).toEqual({
    context_length: 8192,
    max_output_tokens: 8192,
    capabilities: ['chat', 'decisions', 'tools', 'json_schema', 'logprobs'],
    size_bytes: 98362432,
    loaded: false,
  });
  expect(facts['jade-mole-4']).toEqual({
    context_length: 512,
    capabilities: ['embeddings', 'rerank', 'decisions'],
    size_bytes: 24077728,
    loaded: false,
  });
});

test('a size that only the hub knows is left out; what an engine in memory knows is added', async () => {
  const models = manager('web-llm');
  await models.ready(id, never, { onProgress: () => undefined });
  const { size_bytes: bytes, ...facts } = (await models.facts(bytesOf))[id] ?? {};
  expect(bytes).toBeUndefined();
  expect(facts).toMatchObject({
    context_length: 4096,
    loaded: true,
    capabilities: ['chat', 'tools', 'json_schema', 'logprobs', 'reasoning'],
  });
});

test.each([
  [false, []],
  [true, ['vision']],
])("images of the browser's own model, which takes them: %s", async (vision, images) => {
  const builtIn: Variant = {
    engine: 'built-in',
    name: 'built-in',
    license: 'none',
    contextLength: 4096,
    files: [],
  };
  const facts = (engine: Engine<'chat'> | null) =>
    modelFacts({ kind: 'chat' }, builtIn, 0, engine, ENGINES).capabilities;
  expect(facts(null)).toEqual(['chat', 'tools', 'json_schema']);
  expect(facts({ ...loaded, traits: { vision } })).toEqual(['chat', 'tools', 'json_schema', ...images]);
});

test('facts are written when they change, and only then', async () => {
  const written: Record<string, ModelFacts>[] = [];
  let length = 1;
  const changed = factsWriter(
    async () => ({ m: { context_length: length, capabilities: [] } }),
    async (facts) => void written.push(facts),
  );
  for (let i = 0; i < 10; i++) changed();
  await vi.waitFor(() => expect(written).toHaveLength(1));
  length = 2;
  changed();
  await vi.waitFor(() => expect(written).toHaveLength(2));
  expect(written[1]).toEqual({ m: { context_length: 2, capabilities: [] } });
});
