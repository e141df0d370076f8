import { signal } from '@preact/signals';
import type { AddedModel, AddSource, HubFile, HubOffer, ModelDetails } from '../../src/index.ts';
import { announce } from '../announce.ts';
import { messageOf } from '../format.ts';
import { problemOf } from '../problem.ts';
import { preference } from '../preferences.ts';
import { handle } from './localtext.ts';
import { refreshModels } from './models.ts';
import { refreshStoredWeights } from './stored-weights.ts';

/** The user's choice, until it is added or dismissed. */
export interface ChosenModel {
  source: AddSource;
  details: ModelDetails;
  /** Null before anything has been copied. */
  progress: { loadedBytes: number; totalBytes: number } | null;
}

const addedModels = signal<readonly AddedModel[]>([]);
/** The text that names a repository or a URL: kept while the page is reloaded to allow the model hub. */
export const sourceText = preference('add-source', '');
/** Models of a repository; null if none was looked up. */
export const hubOffers = signal<readonly HubOffer[] | null>(null);
export const chosenModel = signal<ChosenModel | null>(null);
/** Source that is being read, such as `owner/name`; null if none is. */
export const reading = signal<string | null>(null);
export const addError = signal<string | null>(null);
/** Note about the partial files of a stopped addition. */
export const addNote = signal<string | null>(null);
let adding = new AbortController();
/** Aborted by the next choice. */
let reader = new AbortController();

export const addedModel = (id: string): AddedModel | undefined =>
  addedModels.value.find((model) => model.id === id);

/** The message about the last action stays. */
export async function refreshAddedModels(): Promise<void> {
  try {
    addedModels.value = await (await handle).models.list();
  } catch (error) {
    addError.value = problemOf(error);
  }
}

/** Shows the facts in a model's files, without copying them. */
export async function choose(source: AddSource, name: string): Promise<void> {
  await read(name, async (stop) => {
    const details = await (await handle).models.inspect(source, { signal: stop });
    return () => {
      hubOffers.value = null;
      chosenModel.value = { source, details, progress: null };
      announce(
        `${details.name} is a ${details.quantization} model. It ${details.problem ?? 'fits this device'}.`,
      );
    };
  });
}

export const chooseFiles = (files: File[]): Promise<void> =>
  choose(files, files.map(({ name }) => name).join(', '));

/** Shows a repository's models, or directly the named one. */
export async function lookUp(wanted: HubFile): Promise<void> {
  if (wanted.file) return choose(wanted, wanted.file);
  await read(wanted.hub, async (stop) => {
    const offers = await (await handle).models.offers(wanted.hub, { signal: stop });
    return () => {
      hubOffers.value = offers;
      announce(`${wanted.hub} has ${offers.length} models. Choose one.`);
    };
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
  addError.value = addNote.value = null;
  try {
    const { models } = await handle;
    await models.add(chosen.source, {
      id,
      signal: stop,
      onProgress: ({ loadedBytes, totalBytes }) => show(loadedBytes, totalBytes),
    });
    if (!stop.aborted) chosenModel.value = null;
    sourceText.value = '';
    announce(`${id} was added.`);
  } catch (error) {
    if (!stop.aborted) {
      chosenModel.value = { ...chosen, progress: null };
      addError.value = problemOf(error);
    }
  }
  await refreshAll();
}

/** Dismisses the choice. Its partial copy is kept for a while, so that it can be resumed. */
export function cancelChosen(): void {
  if (chosenModel.peek()?.progress) {
    addNote.value =
      'Stopped. What has come is kept for a week: add the same model again to go on from there, or delete it under “Storage of this site”.';
    announce(addNote.value);
  }
  adding.abort();
  reader.abort();
  chosenModel.value = hubOffers.value = addError.value = reading.value = null;
}

export async function refreshAll(): Promise<void> {
  await Promise.all([refreshModels(), refreshAddedModels(), refreshStoredWeights()]);
}

/** Reads from `name` and shows the result. Another choice ends the reading. */
async function read(name: string, work: (signal: AbortSignal) => Promise<() => void>): Promise<void> {
  if (chosenModel.peek()?.progress) return;
  reader.abort();
  reader = new AbortController();
  const { signal: replaced } = reader;
  chosenModel.value = addError.value = addNote.value = null;
  reading.value = name;
  announce(`Reading the header of ${name}…`);
  try {
    const show = await work(replaced);
    if (!replaced.aborted) show();
  } catch (error) {
    // The visitor chose the source: its refusal is for them.
    if (!replaced.aborted) addError.value = messageOf(error);
  } finally {
    if (!replaced.aborted) reading.value = null;
  }
}
