/**
 * The web's own `LanguageModel` (Prompt API), in every browser.
 * @module localtext/language-model
 */

export { installLanguageModel, type LanguageModelOptions } from './install.ts';
