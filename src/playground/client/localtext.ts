import { computed, signal } from '@preact/signals';
import { hubAllowed } from './model-hub.ts';
import { start, type Localtext, type LocaltextStatus } from '../../index.ts';
import { messageOf } from '../format.ts';

declare global {
  interface Window {
    /** For the console: the handle, or its promise while the page starts. */
    localtext: Localtext | Promise<Localtext>;
  }
}

/** Started once for the page. */
export const handle: Promise<Localtext> = start({ sources: { hub: hubAllowed.peek() } });

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
  // A status that cannot be fetched now comes with the next event.
  const tryRefresh = (): void => void refresh().catch(() => undefined);
  localtext.addEventListener('status', tryRefresh);
  tryRefresh();
}
