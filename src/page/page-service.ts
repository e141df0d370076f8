import { browserV1 } from '../routing/browser-v1.ts';
import { keepSettings } from '../database/database.ts';
import type { ElectionMember } from './election/election-member.ts';
import { withStorage } from './requirements.ts';
import { pageConnection } from './election/page-connection.ts';
import type { StartOptions } from './start-options.ts';

/** The service in this page, behaving as `fetch` does when a request is aborted. */
export async function pageService(
  member: ElectionMember,
  { catalog, prefer, upstreamKeys }: StartOptions,
): Promise<(request: Request) => Promise<Response>> {
  await withStorage(() => keepSettings(member.scope, { catalog, prefer, upstreamKeys }));
  const { service } = browserV1(pageConnection(member));
  const id = crypto.randomUUID();
  return async (request) => {
    const { signal } = request;
    const response = await service(request, { id, url: location.href });
    if (!response.body) return response;
    // An abort after the headers breaks the body off, as that of a request over the network.
    return new Response(response.body.pipeThrough(new TransformStream(), { signal }), response);
  };
}
