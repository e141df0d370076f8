import { access, readFile, rename, writeFile } from 'node:fs/promises';

import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { pullWeights } from '../../src/node/cli/pull-command.ts';
import { requantize } from './requantize.ts';

const SMOL_LM = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct';

/** What `localtext pull` downloads, what comes by the name of a variant alone, and the file that earlier versions stored. */
export async function pullTestWeights(): Promise<void> {
  const ids = [...defaultCatalog.models.map(({ id }) => id), 'all-minilm-l6-v2-f32', 'silver-lark-4'];
  await pullWeights(ids, 'public/models', new AbortController().signal);
  const made = `${SMOL_LM}.Q8_0.gguf`;
  if (
    await access(made).then(
      () => true,
      () => false,
    )
  )
    return;
  await writeFile(`${made}.part`, requantize(new Uint8Array(await readFile(`${SMOL_LM}.Q4_1.gguf`))));
  await rename(`${made}.part`, made);
}
