import { signal } from '@preact/signals';
import type { AddedModel, ModelDetails } from '../../index.ts';
import { announce } from '../components/announcer.tsx';
import { handle } from './localtext.ts';
import { refreshModels } from './models.ts';
import { refreshStoredWeights } from './stored-weights.ts';
import { messageOf } from '../format.ts';

/** What the user chose, until it is added or put away. */
export interface ChosenModel {
  files: File[];
  details: ModelDetails;
  /** Null: nothing has been copied yet. */
  progress: { loadedBytes: number; totalBytes: number } | null;
}

const addedModels = signal<readonly AddedModel[]>([]);
export const chosenModel = signal<ChosenModel | null>(null);
export const addError = signal<string | null>(null);
let adding = new AbortController();

export const addedModel = (id: string): AddedModel | undefined =>
  addedModels.value.find((model) => model.id === id);

/** What was said of the last action stays. */
export async function refreshAddedModels(): Promise<void> {
  try {
    addedModels.value = await (await handle).models.list();
  } catch (error) {
    addError.value = messageOf(error);
  }
}

/** Shows what the files say of their model; copies nothing. */
export async function chooseFiles(files: File[]): Promise<void> {
  if (chosenModel.peek()?.progress || files.length === 0) return;
  chosenModel.value = null;
  await tell(async () => {
    const details = await (await handle).models.inspect(files);
    chosenModel.value = { files, details, progress: null };
    announce(
      `${details.name} is a ${details.quantization} model. It ${details.problem ?? 'fits this device'}.`,
    );
  });
}

export async function addChosen(id: string): Promise<void> {
  const chosen = chosenModel.peek();
  if (!chosen || chosen.progress) return;
  adding = new AbortController();
  const { signal: stop } = adding;
  const show = (loadedBytes: number, totalBytes: number): void => {
    if (!stop.aborted) chosenModel.value = { ...chosen, progress: { loadedBytes, totalBytes } };
  };
  show(0, chosen.details.bytes);
  const added = await tell(async () => {
    const { models } = await handle;
    await models.add(chosen.files, {
      id,
      signal: stop,
      onProgress: ({ loadedBytes, totalBytes }) => show(loadedBytes, totalBytes),
    });
  }, stop);
  // It may have been added just before.
  if (stop.aborted) return refresh();
  chosenModel.value = added ? null : { ...chosen, progress: null };
  if (!added) return;
  announce(`${id} was added.`);
  await refresh();
}

/** Puts the choice away; what has been copied of it goes. */
export function cancelChosen(): void {
  adding.abort();
  chosenModel.value = null;
  addError.value = null;
}

export async function removeAdded(id: string): Promise<void> {
  if (!(await tell(async () => (await handle).models.remove(id)))) return;
  announce(`${id} was removed.`);
  await refresh();
}

async function refresh(): Promise<void> {
  await Promise.all([refreshModels(), refreshAddedModels(), refreshStoredWeights()]);
}

/** What goes wrong is shown, not thrown; what the user stopped is not. */
async function tell(work: () => Promise<void>, stop?: AbortSignal): Promise<boolean> {
  try {
    addError.value = null;
    await work();
    return true;
  } catch (error) {
    if (!stop?.aborted) addError.value = messageOf(error);
    return false;
  }
}
