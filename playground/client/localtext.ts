import { computed, signal } from '@preact/signals';
import { hubAllowed } from './catalog-settings.ts';
import { siteCatalog } from './site-catalog.ts';
import { start, type Localtext, type LocaltextStatus } from '../../src/index.ts';
import { problemOf } from '../problem.ts';

declare global {
  interface Window {
    /** Handle for the console, or its promise while the page starts. */
    localtext: Localtext | Promise<Localtext>;
  }
}

/** Started once for the page. */
export const handle: Promise<Localtext> = startOnce();

// Asynchronous, so that a failure is one of the promise.
async function startOnce(): Promise<Localtext> {
  return start({ sources: { hub: hubAllowed.peek() }, catalog: siteCatalog() });
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
    startError.value = problemOf(error);
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
