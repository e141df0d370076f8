import { createHash } from 'node:crypto';
import { IdleTimeout, printable } from '#base';

const TIMEOUT_MS = 20_000;
/** Maximum bytes read of a page or script: the examined parts are at the beginning. */
const MAX_TEXT_BYTES = 2_000_000;

/**
 * Maximum bytes read of a file whose hash is compared. The largest file of a build, an engine's, has 27 MB.
 */
const MAX_FILE_BYTES = 2 ** 28;

/** Answer of a server, without the body. */
export interface Answer {
  /** Address after redirects. */
  url: URL;
  status: number;
  headers: Headers;
  /** Media type without parameters, lower case. */
  type: string;
  redirected: boolean;
}

export async function fetchAnswer(url: URL, headers: Record<string, string>): Promise<Answer> {
  const response = await request(url, headers);
  await response.body?.cancel();
  return answerOf(response);
}

export async function fetchText(url: URL): Promise<Answer & { text: string }> {
  const response = await request(url, {});
  return { ...answerOf(response), text: await beginningOf(response) };
}

export interface Content extends Answer {
  /** Hex. */
  sha256: string;
  /** Empty unless `withText`. */
  text: string;
}

/** Reads a whole file. */
export async function fetchContent(url: URL, withText: boolean, signal: AbortSignal): Promise<Content> {
  const timeout = new IdleTimeout(signal);
  const response = await timeout.during(fetch(url, { headers: AS_STORED, signal: timeout.signal }));
  const hash = createHash('sha256');
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const bytes of timeout.body(response)) {
    hash.update(bytes);
    if (withText) text += decoder.decode(bytes, { stream: true });
    length += bytes.length;
    if (length > MAX_FILE_BYTES) break;
  }
  return { ...answerOf(response), sha256: hash.digest('hex'), text };
}

async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    length += bytes.length;
    // Leaving the loop cancels the rest.
    if (length > MAX_TEXT_BYTES) break;
  }
  return text;
}

/** Headers that request the file as stored on disk, because sizes are compared. */
const AS_STORED = { 'accept-encoding': 'identity' };

const request = (url: URL, headers: Record<string, string>): Promise<Response> =>
  fetch(url, { headers: { ...AS_STORED, ...headers }, signal: AbortSignal.timeout(TIMEOUT_MS) });

function answerOf({ url, status, headers, redirected }: Response): Answer {
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return { url: new URL(url), status, headers, type, redirected };
}

/** Runs `work` on the items in order, a few at a time, to keep the load on the site low. */
export async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += 6)
    results.push(...(await Promise.all(items.slice(at, at + 6).map(work))));
  return results;
}

export const isFound = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** Whether the answer is a page, such as the SPA fallback for a missing file. */
export const isHtml = ({ type }: Answer): boolean => type === 'text/html';

const SCRIPT = /^(text|application)\/(x-)?(javascript|ecmascript)$/;

/** Whether browsers run a file of this media type as a script. */
export const isScriptType = (type: string): boolean => SCRIPT.test(type);

/**
 * Hosts with a section of this name in docs/hosting.md, detected by the `server` header or another header.
 */
const HOSTS: [name: string, server: RegExp, header?: string][] = [
  ['nginx', /nginx|openresty/i],
  ['Apache', /apache/i],
  ['Netlify', /netlify/i, 'x-nf-request-id'],
  ['Vercel', /vercel/i, 'x-vercel-id'],
  ['GitHub Pages', /github\.com/i],
];

/** Names the section with the settings of the host, as a sentence. Empty for unknown hosts. */
export function hostAdvice(headers: Headers): string {
  const sent = headers.get('server') ?? '';
  const isHost = ([, server, header]: (typeof HOSTS)[number]): boolean =>
    server.test(sent) || (header !== undefined && headers.has(header));
  const [name] = HOSTS.find(isHost) ?? [];
  if (name === undefined) return '';
  return ` Settings for ${name}: docs/hosting.md#${name.toLowerCase().replace(' ', '-')}`;
}

const MAX_CHARACTERS = 1000;

/** `fault`: localtext will not work, or not wholly. `warning`: it works less well than it could. */
export type Level = 'ok' | 'warning' | 'fault';

export interface Finding {
  level: Level;
  /** One sentence. */
  text: string;
  /** Remedy; absent if nothing is wrong. */
  fix?: string;
}

/** Makes the texts printable: they have a server's headers and URLs. */
const finding = (level: Level, text: string, fix?: string): Finding => ({
  level,
  text: printable(text, MAX_CHARACTERS),
  ...(fix !== undefined && { fix: printable(fix, MAX_CHARACTERS) }),
});

export const ok = (text: string): Finding => finding('ok', text);
export const warning = (text: string, fix: string): Finding => finding('warning', text, fix);
export const fault = (text: string, fix: string): Finding => finding('fault', text, fix);
