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
  const { answer, response } = await ask(url, headers);
  await response.body?.cancel();
  return answer;
}

export async function lookInside(url: URL): Promise<Answer & { text: string }> {
  const { answer, response } = await ask(url, {});
  return { ...answer, text: await response.text() };
}

async function ask(
  url: URL,
  headers: Record<string, string>,
): Promise<{ answer: Answer; response: Response }> {
  const response = await fetch(url, {
    // As it lies on disk: a size is compared.
    headers: { 'accept-encoding': 'identity', ...headers },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const type = (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const { status, redirected } = response;
  return {
    response,
    answer: { url: new URL(response.url), status, headers: response.headers, type, redirected },
  };
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
