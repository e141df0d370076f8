import { computed, signal } from '@preact/signals';
import { messageOf } from '../format.ts';
import { BUILT_IN_MODEL } from './add-built-in.ts';
import { handle, modelStatuses } from './localtext.ts';

/** Why it answers, or why it does not; undefined until the engine has told. */
export const builtInReason = computed(() =>
  modelStatuses.value
    .find(({ id }) => id === BUILT_IN_MODEL)
    ?.reasons?.find(({ engine }) => engine === 'built-in'),
);

/** Progress of the browser's download, or why it failed; null: none was asked for. */
export const builtInDownload = signal<{ share: number } | { error: string } | null>(null);

/** Starts the browser's download. Browsers allow it only in the handler of a click. */
export async function downloadBuiltIn(): Promise<void> {
  builtInDownload.value = { share: 0 };
  try {
    await (
      await handle
    ).ready(BUILT_IN_MODEL, {
      builtIn: 'download',
      onProgress: ({ phase, loadedBytes, totalBytes }) => {
        if (phase === 'download') builtInDownload.value = { share: loadedBytes / totalBytes };
      },
    });
    builtInDownload.value = null;
  } catch (error) {
    builtInDownload.value = { error: messageOf(error) };
  }
}
