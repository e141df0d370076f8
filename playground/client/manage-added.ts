import { signal } from '@preact/signals';
import { announce } from '../announce.ts';
import { downloadBlob } from '../download-file.ts';
import { messageOf } from '../format.ts';
import { refreshAll } from './added-models.ts';
import { handle } from './localtext.ts';

/** What went wrong with an added model. */
export const addedModelError = signal<{ id: string; message: string } | null>(null);

export async function removeAdded(id: string): Promise<void> {
  await tell(id, `${id} was removed.`, async () => (await handle).models.remove(id));
}

/** @returns whether it has the new id */
export async function renameAdded(id: string, to: string): Promise<boolean> {
  return tell(id, `${id} is now ${to}.`, async () => (await handle).models.rename(id, to));
}

/** Writes its weights to a file of this device: straight to the disk where the browser allows it. */
export async function saveAdded(id: string): Promise<void> {
  await tell(id, `${id} was saved.`, async () => {
    const files = (await (await handle).weights.export(id)).filter(({ path }) => path.endsWith('.gguf'));
    const [first, ...others] = files;
    if (first && others.length === 0 && window.showSaveFilePicker) {
      const target = await window.showSaveFilePicker({ suggestedName: `${id}.gguf` });
      const { body } = await first.open();
      await body?.pipeTo(await target.createWritable());
      return;
    }
    const part = (index: number): string => String(index).padStart(5, '0');
    for (const [index, file] of files.entries()) {
      const suffix = others.length === 0 ? '' : `-${part(index + 1)}-of-${part(files.length)}`;
      // Browsers keep a large blob on the disk.
      downloadBlob(`${id}${suffix}.gguf`, await (await file.open()).blob());
    }
  });
}

async function tell(id: string, done: string, work: () => Promise<void>): Promise<boolean> {
  addedModelError.value = null;
  try {
    await work();
  } catch (error) {
    // The user put the browser's dialog away.
    if (error instanceof DOMException && error.name === 'AbortError') return false;
    addedModelError.value = { id, message: messageOf(error) };
    return false;
  }
  announce(done);
  await refreshAll();
  return true;
}

declare global {
  interface Window {
    /** Absent in some browsers. */
    showSaveFilePicker?(options: { suggestedName: string }): Promise<FileSystemFileHandle>;
  }
}
