import type { EngineStatus, LoadProgress } from '../protocol/control.ts';
import { LOAD_PATH, STATUS_PATH, type LoadLine } from '../protocol/local-paths.ts';
import type { WireError } from '../protocol/wire-error.ts';
import { LocaltextError } from './localtext-error.ts';

/** How this page reaches the engine beside /v1, whichever tab it is in. */
export interface EngineAccess {
  load(
    model: string,
    options: { signal: AbortSignal; onProgress?: (progress: LoadProgress) => void },
  ): Promise<void>;
  status(): Promise<EngineStatus | null>;
}

/** A service worker that is stopped breaks the connection; the load itself goes on, or is taken up again. */
const MOST_BROKEN = 3;

/** Through the service worker, which finds the leader and outlives it. */
export const throughServiceWorker: EngineAccess = {
  async load(model, options) {
    for (let broken = 1; ; broken++) {
      try {
        return await follow(model, options);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        if (broken === MOST_BROKEN) throw brokenOff(error);
      }
    }
  },

  async status() {
    const response = await fetch(STATUS_PATH);
    if (response.ok) return (await response.json()) as EngineStatus;
    if (response.status === 500) return null;
    throw notOurs(response);
  },
};

const brokenOff = (cause?: unknown): LocaltextError =>
  new LocaltextError('engine_lost', 'The loading broke off. Try again.', cause);

/** @throws TypeError when the connection breaks. */
const follow: EngineAccess['load'] = async (model, { signal, onProgress }) => {
  const response = await fetch(`${LOAD_PATH}?model=${encodeURIComponent(model)}`, { signal });
  if (!response.ok || !response.body) throw notOurs(response);
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let loaded = false;
  for (;;) {
    // Read to its end: a stream that is cancelled counts as a failed request in the browser's tools.
    const { done, value } = await lines.read();
    if (done && loaded) return;
    if (done) throw brokenOff();
    const parts = (rest + value).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line = JSON.parse(part) as LoadLine;
      if (line.type === 'progress') onProgress?.(line.progress);
      else if (line.type === 'error') throw asLocaltextError(line.error);
      else loaded = true;
    }
  }
};

const asLocaltextError = ({ code, message }: WireError): LocaltextError =>
  new LocaltextError(code ?? 'server_error', message);

const notOurs = ({ status, url }: Response): LocaltextError =>
  new LocaltextError(
    'service_worker_no_control',
    `${url} answered ${status}: the service worker does not control this page. Reload it.`,
  );
