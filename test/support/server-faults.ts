import type { Behaviour } from './answer-file.ts';

/** A server that fails while it serves one file of several chunks. */
interface ServerFault {
  name: string;
  /** What differs from a sound server in the n-th answer, the first being 0. */
  behaviour(answer: number, body: Buffer): Partial<Behaviour>;
}

const HTML = Buffer.from('<!doctype html><title>Start page</title>');
const htmlHeaders = { 'content-type': 'text/html; charset=utf-8' };
const failing = (status: number, headers: Record<string, string> = {}): Partial<Behaviour> => ({
  status,
  headers,
  body: Buffer.from('busy'),
  ignoresRange: true,
});
const flipped = (body: Buffer): Buffer => {
  const other = Buffer.from(body);
  other[7] = (other[7] ?? 0) ^ 1;
  return other;
};

interface BearableFault extends ServerFault {
  chunksSentTwice: number;
}
const bearable = (
  name: string,
  chunksSentTwice: number,
  behaviour: ServerFault['behaviour'],
): BearableFault => ({ name, behaviour, chunksSentTwice });

/** Faults in spite of which the file comes whole, with so many chunks sent more than once at most. */
export const bearableFaults: BearableFault[] = [
  bearable('500 once', 0, (answer) => (answer === 2 ? failing(500) : {})),
  bearable('503 once, with a time to wait', 0, (answer) =>
    answer === 2 ? failing(503, { 'retry-after': '1' }) : {},
  ),
  bearable('a connection that drops once', 1, (answer) => (answer === 2 ? { cutAfter: 1000 } : {})),
  bearable('a connection that falls silent once', 1, (answer) => (answer === 2 ? { stallAfter: 1000 } : {})),
  bearable('a connection that drops after each megabyte', 0, () => ({ cutAfter: 2 ** 20 })),
  bearable('ranges of a megabyte at most, and a connection that drops after each megabyte', 0, () => ({
    maxRange: 2 ** 20,
    cutAfter: 2 ** 20,
  })),
  bearable('ranges of 100 bytes', 0, () => ({ maxRange: 100 })),
  bearable('ranges of status 200', 1, () => ({ hidesRange: true })),
  bearable('wrong ranges that are hidden', 4, () => ({ misplacesRange: true })),
  bearable('a refusal of each range', 1, () => ({ refusesRange: true })),
  bearable('ranges of the compressed file', 1, () => ({ gzip: true })),
  bearable('compression, and no ranges', 4, () => ({ gzip: true, ignoresRange: true })),
  bearable('a wrong total in each range', 1, (_, body) => ({
    headers: { 'content-range': `bytes 0-4194303/${body.length + 1}` },
  })),
  bearable('another range than was asked for, once', 4, (answer, body) =>
    answer === 2 ? { headers: { 'content-range': `bytes 1-4194304/${body.length}` } } : {},
  ),
  bearable('no ranges', 0, () => ({ ignoresRange: true })),
  bearable('no ranges, and a connection that drops once after two chunks', 3, (answer) => ({
    ignoresRange: true,
    ...(answer === 0 && { cutAfter: 2 * 2 ** 22 + 1000 }),
  })),
  bearable('a file that changes in mid-download, with another ETag', 4, (answer, body) =>
    answer < 2 ? { body: flipped(body), etag: '"old"' } : {},
  ),
  bearable('a file that changes in mid-download, without an ETag', 4, (answer, body) => ({
    etag: undefined,
    ...(answer < 2 && { body: flipped(body) }),
  })),
];

interface FatalFault extends ServerFault {
  code: string;
  says: RegExp;
}
const fatal = (
  name: string,
  says: RegExp,
  behaviour: ServerFault['behaviour'],
  code = 'weights_unavailable',
): FatalFault => ({ name, says, behaviour, code });

/** Faults that end the download with an error. */
export const fatalFaults: FatalFault[] = [
  fatal(
    'connections that fall silent from the third on',
    /nothing for 1 s, several times in a row\. \d+ of its/,
    (answer) => (answer >= 2 ? { stallAfter: 0 } : {}),
  ),
  fatal(
    '500 from the third answer on',
    /the server answered 500, several times in a row\. \d+ of its \d+ bytes are stored and kept/,
    (answer) => (answer >= 2 ? failing(500) : {}),
  ),
  fatal('503 in every answer', /the server answered 503, several times in a row\. 0 of/, () => failing(503)),
  fatal(
    'a connection that drops before each body',
    /the connection broke, several times in a row\. 0 of/,
    () => ({ cutAfter: 0 }),
  ),
  fatal(
    'a connection that drops after 100 bytes of each body',
    /the connection broke, several times in a row\. \d+ of/,
    () => ({ cutAfter: 100 }),
  ),
  fatal('403', /the server answered 403\. Put the model's files/, () => failing(403)),
  fatal('404', /the server answered 404\. Put .* \(npx localtext pull, followed by the model's id\)/, () =>
    failing(404),
  ),
  fatal(
    '511',
    /answered 511\. The network requires a sign-in\. Open any web page, sign in, and try again\.$/,
    () => failing(511),
  ),
  fatal(
    'a part of the file in place of the whole',
    /answered 206\. That is a part of the file, although the whole was requested: a proxy/,
    (answer) => ({ refusesRange: true, ...(answer > 0 && { status: 206 }) }),
  ),
  fatal(
    'a part of 100 bytes whatever is asked for',
    /answered 206\. That is a part of the file, although the whole was requested/,
    () => ({ maxRange: 100, status: 206 }),
  ),
  fatal('a web page with status 200', /answered a web page \(HTML, status 200\) instead of/, () => ({
    body: HTML,
    ignoresRange: true,
    headers: htmlHeaders,
  })),
  fatal('a web page in answer to a range', /answered a web page \(HTML, status 206\) instead of/, () => ({
    headers: htmlHeaders,
  })),
  fatal(
    'a whole file of another length',
    /has \d+ bytes, which is not what the catalog says/,
    (_, body) => ({ body: Buffer.concat([body, Buffer.from('x')]), ignoresRange: true }),
    'weights_corrupt',
  ),
  fatal(
    'no ranges, and a connection that drops after each megabyte',
    /cannot continue a file \(byte ranges\), several times/,
    () => ({ cutAfter: 2 ** 20, ignoresRange: true }),
  ),
  fatal(
    'another file of the same length',
    /does not have the SHA-256 that the catalog says/,
    (_, body) => ({ body: flipped(body) }),
    'weights_corrupt',
  ),
];
