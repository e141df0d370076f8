import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { pullWeights } from '../../src/node/cli/pull-command.ts';

/** What `localtext pull` downloads, and what comes by the name of a variant alone. */
export async function pullTestWeights(): Promise<void> {
  const ids = [
    ...defaultCatalog.models.map(({ id }) => id),
    'smollm2-135m-instruct-q8_0',
    'all-minilm-l6-v2-int8',
  ];
  await pullWeights(ids, 'public/models', new AbortController().signal);
}
