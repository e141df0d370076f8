import { delay } from '#base';
import { modelOf } from '#page/state';
import type { CoreOptions } from './create-options.ts';
import { unknownError, V1Error } from './exceptions.ts';
import type { ModelFacts, V1Client } from './v1-client.ts';

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available';

/** Time for the engine to choose the weights after the page has started. */
const MAX_WAIT_MS = 20_000;
const POLL_INTERVAL_MS = 100;

/** Whether the model answers such prompts, and what it would download first. @throws DOMException `UnknownError` */
export async function availabilityOf(client: V1Client, options: CoreOptions): Promise<Availability> {
  try {
    const found = await modelAvailability(client);
    if (found === 'unavailable') return found;
    return supports(await client.facts(), options) ? found : 'unavailable';
  } catch (error) {
    if (error instanceof V1Error && error.status === 404) return 'unavailable';
    throw unknownError(error);
  }
}

async function modelAvailability({ localtext, model: id }: V1Client): Promise<Availability> {
  const handle = await localtext;
  for (let waitedMs = 0; ; waitedMs += POLL_INTERVAL_MS) {
    const status = await handle.status();
    const { state, progress, downloadBytes } = modelOf({ localtext: handle, status, error: null }, id);
    if (state === 'ready') return 'available';
    const isDownloading = state === 'loading' && progress?.phase === 'download';
    if (isDownloading) return 'downloading';
    if (state !== 'starting') {
      const { reasons = [] } = status.models.find((each) => each.id === id) ?? {};
      if (!reasons.some(({ chosen }) => chosen)) return 'unavailable';
      // Servers, and the browser's own model, have no download that could be measured.
      return downloadBytes ? 'downloadable' : 'available';
    }
    if (waitedMs >= MAX_WAIT_MS) throw new Error('The engine has not started.');
    await delay(POLL_INTERVAL_MS);
  }
}

function supports({ capabilities }: ModelFacts, options: CoreOptions): boolean {
  const { expectedInputs, expectedOutputs, tools } = options;
  const types = [...expectedInputs, ...expectedOutputs];
  if (!capabilities.includes('chat') || types.includes('audio') || expectedOutputs.includes('image'))
    return false;
  if (expectedInputs.includes('image') && !capabilities.includes('vision')) return false;
  const usesTools = tools.length > 0 || types.some((type) => type.startsWith('tool-'));
  return !usesTools || capabilities.includes('tools');
}
