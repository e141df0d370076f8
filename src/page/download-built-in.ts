/// <reference types="dom-chromium-ai" />
import { builtInVariant, type Catalog } from '#catalog';
import type { LoadProgress } from '#protocol';
import { expected, languageModel } from './page-services/language-model.ts';
import { LocaltextError } from './localtext-error.ts';

/**
 * Has the browser download its own model, if that is a variant of this model and the browser offers it.
 * Otherwise the model's other variants answer.
 * @throws LocaltextError when the browser refuses; the signal's reason when aborted
 */
export async function downloadBuiltIn(
  catalog: Catalog,
  id: string,
  signal: AbortSignal,
  onProgress?: (progress: LoadProgress) => void,
): Promise<void> {
  const variant = builtInVariant(catalog, id);
  const api = languageModel();
  if (!variant || !api) return;
  const options = expected(variant.languages ?? []);
  const state = await api.availability(options);
  if (state !== 'downloadable' && state !== 'downloading') return;
  try {
    const session = await api.create({
      ...options,
      signal,
      monitor: (monitor) =>
        monitor.addEventListener('downloadprogress', ({ loaded, total }) =>
          onProgress?.({ model: id, phase: 'download', loadedBytes: loaded, totalBytes: total || 1 }),
        ),
    });
    session.destroy();
  } catch (error) {
    signal.throwIfAborted();
    const { name } = error as Error;
    const why =
      name === 'NotAllowedError'
        ? 'Call ready() directly from a click, in a page that may use the Prompt API.'
        : 'Check the network and the free disk space, and try again.';
    const message = `The browser did not download its own model (${name}). ${why}`;
    throw new LocaltextError('model_load_failed', message, error);
  }
}
