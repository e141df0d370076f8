import type { Localtext } from '#page';
import { defineLanguageModel } from './define-class.ts';
import { CreateMonitor } from './download-monitor.ts';
import { EXCEPTIONS } from './exceptions.ts';
import { TOOL_OBJECTS } from './tool-objects.ts';
import { V1Client } from './v1-client.ts';

export interface LanguageModelOptions {
  /** Id of the chat model that answers, as `GET /v1/models` lists it. */
  model: string;
  /** Maximum tokens of a reply: the standard has no such option, and a small model may repeat itself. Default: no limit. */
  maxTokens?: number;
  /** Replaces the browser's own `LanguageModel`, too. */
  replace?: boolean;
}

/**
 * Defines `LanguageModel` in this page, if the browser has none. The page's `/v1` answers its prompts.
 * @param localtext the page's handle, or the promise of one
 * @example
 * import { start } from 'localtext';
 * import { installLanguageModel } from 'localtext/language-model';
 * installLanguageModel(start(), { model: 'amber-phoenix-4' });
 */
export function installLanguageModel(
  localtext: Localtext | Promise<Localtext>,
  { replace = false, ...options }: LanguageModelOptions,
): void {
  if ('LanguageModel' in globalThis && !replace) return;
  const handle = Promise.resolve(localtext);
  // Each call reports the failure.
  handle.catch(() => undefined);
  const LanguageModel = defineLanguageModel(new V1Client(handle, options));
  const classes = { ...EXCEPTIONS, ...TOOL_OBJECTS, CreateMonitor, LanguageModel };
  for (const [name, value] of Object.entries(classes)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    // A build may have shortened the class's name.
    Object.defineProperty(value, 'name', { value: name, configurable: true });
    Object.defineProperty(value.prototype, Symbol.toStringTag, { value: name, configurable: true });
  }
}
