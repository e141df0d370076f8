/// <reference types="dom-chromium-ai" />

/** The browser's Prompt API. */
export const languageModel = (): typeof LanguageModel | undefined =>
  (globalThis as { LanguageModel?: typeof LanguageModel }).LanguageModel;

/** What a session is for: the browser answers for these languages alone. */
export function expected(
  languages: readonly string[],
): Pick<LanguageModelCreateCoreOptions, 'expectedInputs' | 'expectedOutputs'> {
  if (languages.length === 0) return {};
  const texts: LanguageModelExpected[] = [{ type: 'text', languages: [...languages] }];
  return { expectedInputs: texts, expectedOutputs: texts };
}
