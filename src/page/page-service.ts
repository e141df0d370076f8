import { browserV1 } from '../routing/browser-v1.ts';
import { keepSettings } from '../database/database.ts';
import type { ElectionMember } from './election/election-member.ts';
import { withStorage } from './requirements.ts';
import { pageTransport } from './election/page-transport.ts';
import type { StartOptions } from './start-options.ts';

/** The service in this page, behaving as `fetch` does when a request is aborted. */
export async function pageService(
  leader: ElectionMember,
  { catalog, prefer, upstreamKeys }: StartOptions,
): Promise<(request: Request) => Promise<Response>> {
  await withStorage(() => keepSettings(leader.scope, { catalog, prefer, upstreamKeys }));
  const { service } = browserV1({
    scope: leader.scope,
    transport: pageTransport(leader),
    locks: navigator.locks,
  });
  const id = crypto.randomUUID();
  return async (request) => {
    const { signal } = request;
    const response = await service(request, { id, url: location.href });
    if (!response.body) return response;
    // An abort after the headers breaks the body off, as that of a request over the network.
    return new Response(response.body.pipeThrough(new TransformStream(), { signal }), response);
  };
}
