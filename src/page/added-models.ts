import type { AddedModel } from '../catalog/added-models.ts';
import { giveFiles } from '../protocol/added-files.ts';
import type { ModelSource, WeightsCommand } from '../protocol/weights-command.ts';
import { readAddedModels } from '../database/database.ts';
import type { AddOptions, AddSource } from './added-model-types.ts';
import { fetchWeights, postWeights, readLines } from './engine-access.ts';
import { inspectFiles, isFiles, remoteSource } from './inspect-source.ts';
import { LocaltextError } from './localtext-error.ts';
import { withStorage } from './requirements.ts';

export { inspectSource, listOffers } from './inspect-source.ts';

export async function listModels(scope: string): Promise<AddedModel[]> {
  const records = await withStorage(() => readAddedModels(scope));
  return records.map(({ model }) => model);
}

export async function addModel(
  source: AddSource,
  { id, keepTemplateText = false, signal: given, onProgress }: AddOptions,
  scope: string,
  stopped: AbortSignal,
): Promise<AddedModel> {
  const signal = given ? AbortSignal.any([given, stopped]) : stopped;
  const { asked, end } = await offer(source, scope);
  try {
    const response = await fetchWeights(
      { type: 'add', id: id ?? null, source: asked, keepTemplateText },
      signal,
    );
    let added: AddedModel | null = null;
    await readLines(response, (line) => {
      if (line.type === 'progress') onProgress?.(line.progress);
      if (line.type === 'added') added = line.model;
    });
    if (added) return added;
  } finally {
    end();
  }
  throw new LocaltextError('engine_lost', 'Adding the model was interrupted. Try again.');
}

export async function command(which: WeightsCommand, signal: AbortSignal): Promise<void> {
  await postWeights(which, signal);
}

/** Source as the engine is asked for it; its files are available to the engine until `end()`. */
async function offer(source: AddSource, scope: string): Promise<{ asked: ModelSource; end: () => void }> {
  if (!isFiles(source)) return { asked: remoteSource(source), end: () => undefined };
  const { files } = await inspectFiles(source);
  const ticket = crypto.randomUUID();
  const end = giveFiles(
    scope,
    ticket,
    files.map(({ file }) => file),
  );
  return { asked: { type: 'files', names: files.map(({ name }) => name), ticket }, end };
}
