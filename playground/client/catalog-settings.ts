import type { Signal } from '@preact/signals';
import { preference } from '../preferences.ts';

// What the page's catalog has. Each change takes effect after a reload.

/** Whether weights may come from the model hub. */
export const hubAllowed = preference('model-hub', false);
export const visionAdded = preference('vision-model', false);
/** Whether the browser's own model may answer for `BUILT_IN_MODEL`. */
export const builtInAdded = preference('built-in-model', false);

export const BUILT_IN_MODEL = 'amber-phoenix-4';

/** Whether the browser offers pages its own model. */
export const offersBuiltIn = 'LanguageModel' in globalThis;

export function setAndReload(setting: Signal<boolean>, value: boolean): void {
  setting.value = value;
  location.reload();
}
