import OpenAI from 'openai';

import { start, type Localtext } from '../../../src/index.ts';
import { pageOptions } from './page-options.ts';

declare global {
  interface Window {
    localtext: Promise<Localtext>;
    OpenAI: typeof OpenAI;
    /** A client as an application would make it. `maxRetries` is 0: a test checks the first answer. */
    client(apiKey: string, options?: { maxRetries?: number; timeout?: number }): OpenAI;
  }
}

window.localtext = start(pageOptions());
window.OpenAI = OpenAI;
window.client = (apiKey, clientOptions) =>
  new OpenAI({
    apiKey,
    baseURL: `${location.origin}/v1`,
    dangerouslyAllowBrowser: true,
    maxRetries: 0,
    ...clientOptions,
  });
