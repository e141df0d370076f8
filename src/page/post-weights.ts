import { WEIGHTS_PATH } from '../protocol/local-paths.ts';
import type { WeightsReply } from '../protocol/weights.ts';
import type { WireError } from '../protocol/wire-error.ts';
import { LocaltextError } from './localtext-error.ts';

/** Through the service worker to the engine, whichever tab it is in. @throws LocaltextError */
export async function postWeights(query: string, body: BodyInit, signal: AbortSignal): Promise<WeightsReply> {
  const response = await fetch(WEIGHTS_PATH + query, { method: 'POST', body, signal });
  const reply = (await response.json().catch(() => ({}))) as WeightsReply | { error?: WireError };
  if (response.ok && !('error' in reply)) return reply as WeightsReply;
  const error = 'error' in reply ? reply.error : undefined;
  throw new LocaltextError(
    error?.code ?? 'service_worker_no_control',
    error?.message ?? `${WEIGHTS_PATH} answered ${response.status}: reload the page.`,
  );
}
