import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { defaultCatalog } from '../../catalog/default-catalog.ts';
import { ask, isInteractive } from './ask.ts';
import { cacheFolder } from './pull/cache-folder.ts';
import { makeFolder, naming } from '../files.ts';
import { hubEndpoint, probeHub } from './pull/pull-hub.ts';
import { recommend, thisMachine } from './pull/recommend.ts';

/**
 * The name of a larger model for this machine, on request: asked once for each machine, on a terminal.
 * @param wanted what a flag says; then nothing is asked.
 */
export async function offerModel(wanted: boolean | undefined, signal: AbortSignal): Promise<string | null> {
  const variant = recommend(defaultCatalog, thisMachine());
  if (variant === null || wanted === false) return null;
  if (wanted) return variant.name;
  const asked = join(cacheFolder(), 'offered');
  if (!isInteractive() || existsSync(asked)) return null;
  if ((await probeHub(hubEndpoint(), signal)) !== null) return null;
  const gigabytes = ((variant.hub?.approximateBytes ?? 0) / 1e9).toFixed(1);
  const question = [
    'SmolLM2, which comes first, does small tasks and knows little. For this machine there is a more useful model:',
    `${variant.name}, about ${gigabytes} GB${variant.needs?.webgpu ? ', for browsers with WebGPU' : ''}.`,
    'Download it too? [Y/n] ',
  ].join('\n');
  const answer = await ask(question, signal);
  await makeFolder(cacheFolder());
  await naming(asked, writeFile(asked, `${variant.name}: ${answer ? 'yes' : 'no'}\n`));
  return answer ? variant.name : null;
}
