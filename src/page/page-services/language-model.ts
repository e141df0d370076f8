/// <reference types="dom-chromium-ai" />

/** The browser's Prompt API. */
export const languageModel = (): typeof LanguageModel | undefined =>
  (globalThis as { LanguageModel?: typeof LanguageModel }).LanguageModel;

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
