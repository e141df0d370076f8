import { WEIGHTS_PATH } from '../protocol/local-paths.ts';
import type { WeightsReply } from '../protocol/weights-messages.ts';
import { fetchLocal, toError } from './fetch-local.ts';

/** Through the service worker to the engine, whichever tab it is in. @throws LocaltextError */
export async function postWeights(
  query: string,
  body: string | File,
  signal: AbortSignal,
): Promise<WeightsReply> {
  const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
  const headers = { 'content-type': type };
  const response = await fetchLocal(WEIGHTS_PATH + query, { method: 'POST', headers, body, signal });
  if (response.ok) return (await response.json()) as WeightsReply;
  throw await toError(response);
}
