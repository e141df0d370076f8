import { signal } from '@preact/signals';
import type { ExportedFile } from '../../src/index.ts';
import { announce } from '../announce.ts';
import { downloadBlob } from '../download-file.ts';
import { problemOf } from '../problem.ts';
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

/** Written share of each model being saved, by id. */
export const savedShare = signal<Readonly<Record<string, number>>>({});

const saves = new Map<string, AbortController>();

export function cancelSave(id: string): void {
  saves.get(id)?.abort();
}

/** Saves a model's weights to a file on this device, directly to the disk if the browser allows it. */
export async function saveAdded(id: string): Promise<void> {
  const controller = new AbortController();
  saves.set(id, controller);
  await tell(id, `${id} was saved.`, () => save(id, controller.signal));
  saves.delete(id);
  const { [id]: _ended, ...others } = savedShare.value;
  savedShare.value = others;
}

async function save(id: string, cancelled: AbortSignal): Promise<void> {
  const files = (await (await handle).weights.export(id)).filter(({ path }) => path.endsWith('.gguf'));
  const [first, ...others] = files;
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let written = 0;
  const counted = async (file: ExportedFile): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> => {
    const { body } = await file.open();
    if (!body) throw new Error(`${file.path} cannot be read.`);
    const count = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, stream) {
        written += chunk.byteLength;
        savedShare.value = { ...savedShare.value, [id]: written / total };
        stream.enqueue(chunk);
      },
    });
    return body.pipeThrough(count, { signal: cancelled });
  };
  if (first && others.length === 0 && window.showSaveFilePicker) {
    const target = await window.showSaveFilePicker({ suggestedName: `${id}.gguf` });
    await (await counted(first)).pipeTo(await target.createWritable());
    return;
  }
  const part = (index: number): string => String(index).padStart(5, '0');
  for (const [index, file] of files.entries()) {
    const suffix = others.length === 0 ? '' : `-${part(index + 1)}-of-${part(files.length)}`;
    // Browsers keep a large blob on the disk.
    downloadBlob(`${id}${suffix}.gguf`, await new Response(await counted(file)).blob());
  }
}

async function tell(id: string, done: string, work: () => Promise<void>): Promise<boolean> {
  addedModelError.value = null;
  try {
    await work();
  } catch (error) {
    // The user closed the browser's dialog.
    if (error instanceof DOMException && error.name === 'AbortError') return false;
    addedModelError.value = { id, message: problemOf(error) };
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
