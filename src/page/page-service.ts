import { browserV1 } from '#routing';
import { keepSettings } from '#database';
import { asServiceError, serverError } from '#base';
import type { ElectionMember } from './election/election-member.ts';
import { LocaltextError } from './localtext-error.ts';
import { withStorage } from './requirements.ts';
import { pageConnection } from './election/page-connection.ts';
import type { StartOptions } from './start-options.ts';

/**
 * Service in this page, which handles aborts as `fetch` does. If the browser refuses storage, requests are
 * answered with that error.
 */
export function pageService(
  member: ElectionMember,
  options: StartOptions,
): (request: Request) => Promise<Response> {
  const { service } = browserV1(pageConnection(member));
  const id = crypto.randomUUID();
  let kept: Promise<void> | null = null;
  return async (request) => {
    const { signal } = request;
    try {
      kept ??= withStorage(() => keepSettings(member.scope, navigator.locks, options));
      await kept;
    } catch (error) {
      // The browser may allow it at the next request.
      kept = null;
      const { code, message } = error as LocaltextError;
      const known = error instanceof LocaltextError ? serverError(code, message, error) : error;
      return asServiceError(known).toResponse();
    }
    const response = await service(request, { id, url: location.href });
    if (!response.body) return response;
    // An abort after the headers breaks off the body, as in a request over the network.
    return new Response(response.body.pipeThrough(new TransformStream(), { signal }), response);
  };
}
