import { computed, signal } from '@preact/signals';
import { builtInAdded, offersBuiltIn } from './add-built-in.ts';
import { speechAdded } from './add-speech.ts';
import { visionAdded } from './add-vision.ts';
import { hubAllowed } from './model-hub.ts';
import { defaultCatalog, extendCatalog, voices, type Catalog } from '../../src/catalog.ts';
import { start, type Localtext, type LocaltextStatus, type StartOptions } from '../../src/index.ts';
import { messageOf } from '../format.ts';

declare global {
  interface Window {
    /** Handle for the console, or its promise while the page starts. */
    localtext: Localtext | Promise<Localtext>;
  }
}

/** Started once for the page. */
export const handle: Promise<Localtext> = startOnce();

async function startOnce(): Promise<Localtext> {
  const options: StartOptions & { catalog: Catalog } = {
    sources: { hub: hubAllowed.peek() },
    catalog: extendCatalog(defaultCatalog, voices),
  };
  if (speechAdded.peek()) {
    const { catalogWithSpeech } = await import('./catalog-with-speech.ts');
    options.catalog = catalogWithSpeech(options.catalog);
  }
  if (visionAdded.peek()) {
    const { catalogWithVision } = await import('./catalog-with-vision.ts');
    options.catalog = catalogWithVision(options.catalog);
  }
  if (offersBuiltIn && builtInAdded.peek()) {
    const { catalogWithBuiltIn } = await import('./catalog-with-built-in.ts');
    options.catalog = catalogWithBuiltIn(options.catalog);
  }
  // Set when Vite starts: `VITE_SERVER=http://127.0.0.1:8000/v1 npx vite`.
  const server = import.meta.env['VITE_SERVER'] as string | undefined;
  if (server) {
    const { catalogWithServer } = await import('./catalog-with-server.ts');
    options.catalog = catalogWithServer(server, options.catalog);
  }
  return start(options);
}

export const startError = signal<string | null>(null);
export const engineStatus = signal<LocaltextStatus | null>(null);
export const modelStatuses = computed(() => engineStatus.value?.models ?? []);

export async function publishHandle(): Promise<void> {
  window.localtext = handle;
  try {
    const localtext = await handle;
    window.localtext = localtext;
    watchStatus(localtext);
  } catch (error) {
    startError.value = messageOf(error);
  }
}

function watchStatus(localtext: Localtext): void {
  const refresh = async (): Promise<void> => {
    engineStatus.value = await localtext.status();
  };
  // A failed status request is repeated at the next event.
  const tryRefresh = (): void => void refresh().catch(() => undefined);
  localtext.addEventListener('status', tryRefresh);
  tryRefresh();
}
