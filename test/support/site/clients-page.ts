import { start } from '../../../src/index.ts';
import * as aiSdk from './clients/ai-sdk.ts';
import * as langchain from './clients/langchain.ts';
import * as openai from './clients/openai-client.ts';
import * as openai7 from './clients/openai-7-client.ts';
import { pageOptions } from './page-options.ts';

const clients = { aiSdk, langchain, openai, openai7 };

declare global {
  interface Window {
    /** What applications do with each client library. */
    clients: typeof clients;
  }
}

window.localtext = start(pageOptions());
window.clients = clients;
