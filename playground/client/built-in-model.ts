import { computed, signal } from '@preact/signals';
import { messageOf } from '../format.ts';
import { BUILT_IN_MODEL } from './catalog-settings.ts';
import { handle } from './localtext.ts';
import { statusOf } from './model-facts.ts';

/** Why it answers, or why it does not; undefined until the engine reports it. */
export const builtInReason = computed(() =>
  statusOf(BUILT_IN_MODEL)?.reasons?.find(({ engine }) => engine === 'built-in'),
);

/** Progress of the browser's download, or why it failed; null if none was requested. */
export const builtInDownload = signal<{ share: number } | { error: string } | null>(null);

let controller = new AbortController();

export function cancelBuiltInDownload(): void {
  controller.abort();
}

/** Starts the browser's download. Browsers allow it only in the handler of a click. */
export async function downloadBuiltIn(): Promise<void> {
  controller = new AbortController();
  const { signal: cancelled } = controller;
  builtInDownload.value = { share: 0 };
  try {
    await (
      await handle
    ).ready(BUILT_IN_MODEL, {
      builtIn: 'download',
      signal: cancelled,
      onProgress: ({ phase, loadedBytes, totalBytes }) => {
        if (phase === 'download') builtInDownload.value = { share: loadedBytes / totalBytes };
      },
    });
    builtInDownload.value = null;
  } catch (error) {
    builtInDownload.value = cancelled.aborted ? null : { error: messageOf(error) };
  }
}
