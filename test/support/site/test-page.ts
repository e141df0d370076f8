import OpenAI from 'openai';

import { start, type Localtext } from '../../../src/index.ts';

declare global {
  interface Window {
    localtext: Promise<Localtext>;
    OpenAI: typeof OpenAI;
    /** A client as an application would make it. `maxRetries` is 0: a test checks the first answer. */
    client(apiKey: string, options?: { maxRetries?: number; timeout?: number }): OpenAI;
  }
}

/** `?options=<JSON>`, or `#options=<JSON>` for what is too long for a request: what a site would pass. */
const options =
  new URLSearchParams(location.search).get('options') ??
  new URLSearchParams(location.hash.slice(1)).get('options') ??
  '{}';
window.localtext = start(JSON.parse(options) as Parameters<typeof start>[0]);
window.OpenAI = OpenAI;
window.client = (apiKey, clientOptions) =>
  new OpenAI({
    apiKey,
    baseURL: `${location.origin}/v1`,
    dangerouslyAllowBrowser: true,
    maxRetries: 0,
    ...clientOptions,
  });
