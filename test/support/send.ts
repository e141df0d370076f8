import type { Page } from 'playwright';

/** Answer to a request of a page. */
export interface Sent<Body> {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  text: string;
  /** Its JSON, if it is JSON. */
  body: Body;
}

/** Sends a request from a page: a POST if it has a body, or a GET. */
export async function send<Body = unknown>(
  page: Page,
  key: string,
  path: string,
  json?: object,
  headers: Record<string, string> = {},
): Promise<Sent<Body>> {
  const sent = await page.evaluate(
    async ([url, init]) => {
      const response = await fetch(url, init);
      const text = await response.text();
      return { status: response.status, headers: Object.fromEntries(response.headers), text };
    },
    [
      path,
      {
        headers: {
          authorization: `Bearer ${key}`,
          ...(json && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(json && { method: 'POST', body: JSON.stringify(json) }),
      },
    ] as const,
  );
  return { ...sent, body: (/^[[{]/.test(sent.text) ? JSON.parse(sent.text) : null) as Body };
}
