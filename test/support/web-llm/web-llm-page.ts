import { wrap, type Remote } from 'comlink';
import type { WebLlmApi } from './web-llm-worker.ts';

declare global {
  interface Window {
    webLlm: Remote<WebLlmApi>;
  }
}

window.webLlm = wrap<WebLlmApi>(
  new Worker(new URL('./web-llm-worker.ts', import.meta.url), { type: 'module' }),
);
