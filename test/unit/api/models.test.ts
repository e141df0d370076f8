import { expect, test } from 'vitest';
import { catalogDirectory } from '../../../src/api/models/models.ts';
import type { ModelDetails } from '../../../src/api/service-dependencies.ts';
import { fakeService } from '../../support/fake-service.ts';

const directory = catalogDirectory(async () => ({
  ownedBy: 'us',
  models: [{ id: 'own-1', kind: 'chat', created: 1, variants: [], defaults: { temperature: 0.2 } }],
  aliases: { other: 'own-1' },
}));

async function retrieve(describe?: (id: string) => Promise<ModelDetails | null>): Promise<unknown> {
  const { fetch } = await fakeService({ models: { ...directory, ...(describe && { describe }) } });
  return (await fetch('/v1/models/other')).json();
}

const plain = { id: 'other', object: 'model', created: 1, owned_by: 'us' };

test('one model carries what stands behind it here', async () => {
  const description: ModelDetails = {
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

test('where nothing is known, it is OpenAI’s shape alone', async () => {
  expect(await retrieve(async () => null)).toEqual(plain);
  expect(await retrieve()).toEqual(plain);
});
