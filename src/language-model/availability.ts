import { delay } from '#base';
import { modelOf } from '#page/state';
import type { CoreOptions } from './create-options.ts';
import { unknownError, V1Error } from './exceptions.ts';
import type { V1Model, V1Client } from './v1-client.ts';

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available';

/** Time for the engine to choose the weights after the page has started. */
const MAX_WAIT_MS = 20_000;
const POLL_INTERVAL_MS = 100;

/** Whether the model answers such prompts, and what it would download first. @throws DOMException `UnknownError` */
export async function availabilityOf(client: V1Client, options: CoreOptions): Promise<Availability> {
  try {
    if (!isPossible(options)) return 'unavailable';
    const found = await modelAvailability(client);
    if (found === 'unavailable' || !needsDescription(options)) return found;
    return supports(await client.describe(), options) ? found : 'unavailable';
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
      const { kind, reasons = [] } = status.models.find((each) => each.id === id) ?? {};
      if (kind !== 'chat' || !reasons.some(({ chosen }) => chosen)) return 'unavailable';
      // Servers, and the browser's own model, have no download that could be measured.
      return downloadBytes ? 'downloadable' : 'available';
    }
    if (waitedMs >= MAX_WAIT_MS) throw new Error('The engine has not started.');
    await delay(POLL_INTERVAL_MS);
  }
}

/** Whether any model of `/v1` could: none takes or makes sound here, and none is asked for its languages. */
function isPossible(options: CoreOptions): boolean {
  if (typesOf(options).includes('audio') || options.expectedOutputs.includes('image')) return false;
  const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
  return options.languages.every((tag) => names.of(tag) !== undefined);
}

const typesOf = ({ expectedInputs, expectedOutputs }: CoreOptions) => [...expectedInputs, ...expectedOutputs];

const needsDescription = (options: CoreOptions): boolean =>
  options.tools.length > 0 || typesOf(options).some((type) => type !== 'text');

function supports({ capabilities }: V1Model, options: CoreOptions): boolean {
  if (options.expectedInputs.includes('image') && !capabilities.includes('vision')) return false;
  const usesTools = options.tools.length > 0 || typesOf(options).some((type) => type.startsWith('tool-'));
  return !usesTools || capabilities.includes('tools');
}
