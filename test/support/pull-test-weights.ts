import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { pullWeights } from '../../src/node/cli/pull-command.ts';

/** What `localtext pull` downloads, and the weights that only pages use that prefer them. */
export async function pullTestWeights(): Promise<void> {
  const ids = [...defaultCatalog.models.map(({ id }) => id), 'all-minilm-l6-v2-int8'];
  await pullWeights(ids, 'public/models', new AbortController().signal);
}
