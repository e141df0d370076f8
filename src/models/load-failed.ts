import type { Variant } from '#catalog';
import { serverError, messageOf, printable, type ServiceError } from '#base';
import { isOutOfMemory, outOfMemory } from '#engine-kit';

/** The smallest WebAssembly module: a header. */
const EMPTY_MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/** Messages of Chromium, Firefox and WebKit for a script that could not be fetched. */
const NO_SCRIPT = /dynamically imported module|importing a module script failed/i;

const MAX_CAUSE = 300;

/**
 * Checks that WebAssembly is allowed, which engines and the hashes of downloads require.
 * @throws ServiceError `model_load_failed` if the site's policy does not allow it
 */
export function requireWasm(variant: Variant): void {
  try {
    // oxlint-disable-next-line no-new -- it throws
    new WebAssembly.Module(EMPTY_MODULE);
  } catch (error) {
    const why =
      "the site's Content-Security-Policy does not allow WebAssembly. Add 'wasm-unsafe-eval' to its script-src, and reload the page.";
    throw loadError(variant, why, error);
  }
}

/** Whether a script of the engine could not be fetched. */
export const lacksScript = (cause: unknown): boolean => NO_SCRIPT.test(messageOf(cause));

/** Translates an error of a load that is not a ServiceError. */
export function loadFailed(variant: Variant, cause: unknown): ServiceError {
  const text = messageOf(cause);
  const noScript =
    'a script of its engine could not be fetched. The site may have a new version: call update(), then reload the tabs of this site.';
  if (lacksScript(cause)) return loadError(variant, noScript, cause);
  if (isOutOfMemory(text)) return outOfMemory(variant.name, cause);
  console.error(`localtext: ${variant.name} could not be loaded`, cause);
  const paths = variant.files.map(({ path }) => path).join(', ');
  const why = `the engine reported: ${printable(text, MAX_CAUSE)}. Check its files (${paths}), or choose another model.`;
  return loadError(variant, why, cause);
}

/** Error if all variants of a model that can run have ended a tab. */
export function endedTab(variant: Variant): ServiceError {
  const why =
    'it ended its tab the last time, and may be too large for this device. Choose a smaller model, or try it again with ready(id, { retry: true }).';
  return loadError(variant, why, null);
}

const loadError = (variant: Variant, why: string, cause: unknown): ServiceError =>
  serverError('model_load_failed', `The model ${variant.name} could not be loaded: ${why}`, cause);
