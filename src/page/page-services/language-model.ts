/// <reference types="dom-chromium-ai" />

/** Marks the class of `installLanguageModel()`. The registry's symbol: no code is shared with that entry. */
const OF_LOCALTEXT = Symbol.for('localtext.LanguageModel');

/** The browser's Prompt API. localtext's own class would ask `/v1`, and so this page, again. */
export function languageModel(): typeof LanguageModel | undefined {
  const { LanguageModel: api } = globalThis as { LanguageModel?: typeof LanguageModel };
  return api && OF_LOCALTEXT in api ? undefined : api;
}

/**
 * Declares what a session is for: the browser answers only in these languages, and takes images only if they
 * are declared.
 */
export function expected(
  languages: readonly string[],
  images = false,
): Pick<LanguageModelCreateCoreOptions, 'expectedInputs' | 'expectedOutputs'> {
  if (languages.length === 0 && !images) return {};
  const texts: LanguageModelExpected[] = [
    { type: 'text', ...(languages.length > 0 && { languages: [...languages] }) },
  ];
  return { expectedInputs: images ? [...texts, { type: 'image' }] : texts, expectedOutputs: texts };
}
