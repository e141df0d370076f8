import { preference } from '../preferences.ts';

/** The id that the browser's own model may answer for. */
export const BUILT_IN_MODEL = 'amber-phoenix-4';

/** Whether the browser offers pages its own model. */
export const offersBuiltIn = 'LanguageModel' in globalThis;

/** Whether the catalog contains it. A change takes effect after a reload. */
export const builtInAdded = preference('built-in-model', false);

export function addBuiltIn(added: boolean): void {
  builtInAdded.value = added;
  location.reload();
}
