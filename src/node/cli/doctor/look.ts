const TIMEOUT_MS = 20_000;

/** What a server answers, without the body. */
export interface Answer {
  /** After redirects. */
  url: URL;
  status: number;
  headers: Headers;
  /** Without parameters, lower case. */
  type: string;
  redirected: boolean;
}

export async function look(url: URL, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await ask(url, headers);
  await response.body?.cancel();
  return answerOf(response);
}

export async function lookInside(url: URL): Promise<Answer & { text: string }> {
  const response = await ask(url, {});
  return { ...answerOf(response), text: await response.text() };
}

const ask = (url: URL, headers: Record<string, string>): Promise<Response> =>
  fetch(url, {
    // As it lies on disk: a size is compared.
    headers: { 'accept-encoding': 'identity', ...headers },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });

function answerOf({ url, status, headers, redirected }: Response): Answer {
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return { url: new URL(url), status, headers, type, redirected };
}

/** In order, a few at a time: a site is examined, not tested for its strength. */
export async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += 6)
    results.push(...(await Promise.all(items.slice(at, at + 6).map(work))));
  return results;
}

export const isFound = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** Answered with a page where a file was asked for: the habit of servers for single-page apps. */
export const isPage = ({ type }: Answer): boolean => type === 'text/html';
