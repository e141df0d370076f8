import { expect, test } from 'vitest';
import { catalogDirectory } from '../../../../src/service/model-list/models.ts';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import type { ServedVariant } from '../../../../src/protocol/service-dependencies.ts';
import { fakeService } from '../../../support/fake-service.ts';

const catalog: Catalog = {
  ownedBy: 'us',
  models: [{ id: 'own-1', kind: 'chat', created: 1, variants: [], defaults: { temperature: 0.2 } }],
  aliases: { other: 'own-1' },
};

async function retrieve(describe?: (id: string) => Promise<ServedVariant | null>): Promise<unknown> {
  const models = catalogDirectory(async () => catalog, describe && { describe });
  const { fetch } = await fakeService({ models });
  return (await fetch('/v1/models/other')).json();
}

const plain = { id: 'other', object: 'model', created: 1, owned_by: 'us', capabilities: ['chat'] };

test('one model carries what stands behind it here', async () => {
  const description: ServedVariant = {
    variant: 'v',
    engine: 'wllama',
    bytes: 5,
    state: 'idle',
    fingerprint: null,
    sampling: { topK: 20, minP: 0.2 },
    reasons: [{ variant: 'v', engine: 'wllama', chosen: true, reason: 'the first' }],
  };
  const sampling = { temperature: 0.2, top_p: 1, top_k: 20, min_p: 0.2 };
  const asked: string[] = [];
  const model = await retrieve(async (id) => {
    asked.push(id);
    return description;
  });
  expect(model).toEqual({ ...plain, localtext: { ...description, sampling } });
  expect(asked).toEqual(['own-1']);
});

test('where nothing else is known, it has its kind beside OpenAI’s shape', async () => {
  expect(await retrieve(async () => null)).toEqual(plain);
  expect(await retrieve()).toEqual(plain);
});

test('a model has its facts in the list and alone, by every name, and an error a remedy', async () => {
  const facts = { context_length: 512, capabilities: ['chat' as const, 'tools' as const], loaded: true };
  const models = catalogDirectory(async () => catalog, { facts: async () => new Map([['own-1', facts]]) });
  const { fetch } = await fakeService({ models });
  const { data } = (await (await fetch('/v1/models')).json()) as { data: unknown[] };
  expect(data).toEqual([{ ...plain, id: 'own-1', ...facts }]);
  expect(await (await fetch('/v1/models/other')).json()).toEqual({ ...plain, ...facts });
  const answer = await fetch('/v1/embeddings', { json: { model: 'o/x', input: 'a' } });
  expect(await answer.text()).toMatch(/models\.add\(.* Models for this: none\. A site adds one by `start/);
  const limited = await fakeService({ issue: { models: ['indigo-owl-4'] } });
  const refused = await limited.fetch('/v1/embeddings', { json: { model: 'jade-mole-4', input: 'a' } });
  expect(await refused.text()).toMatch(
    / Models for this: none with this key, which is for indigo-owl-4\. Issue a key with its id in `models`/,
  );
  expect(await (await fetch('/v1/v1/chat')).text()).toContain(
    'It has /v1 twice: the base URL ends with /v1.',
  );
});

test('a request keeps the catalog that was read for it, whatever other requests read', async () => {
  let reads = 0;
  const directory = catalogDirectory(async () => ({ ...catalog, ownedBy: `read ${++reads}` }));
  const [one, two] = [directory.forRequest(), directory.forRequest()];
  const owners = async (models: typeof one) => [
    (await models.find('other'))?.ownedBy,
    (await models.list())[0]?.ownedBy,
  ];
  expect(await owners(one)).toEqual(['read 1', 'read 1']);
  expect(await owners(two)).toEqual(['read 2', 'read 2']);
});
