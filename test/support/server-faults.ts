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

/** Faults that end the download with an error. */
export const fatalFaults: (ServerFault & { code: string; says: RegExp })[] = [
  {
    name: 'connections that fall silent from the third on',
    behaviour: (answer) => (answer >= 2 ? { stallAfter: 0 } : {}),
    code: 'weights_unavailable',
    says: /nothing for 1 s, several times in a row\. \d+ of its/,
  },
  {
    name: '500 from the third answer on',
    behaviour: (answer) => (answer >= 2 ? failing(500) : {}),
    code: 'weights_unavailable',
    says: /the server answered 500, several times in a row\. \d+ of its \d+ bytes are stored and kept/,
  },
  {
    name: '503 in every answer',
    behaviour: () => failing(503),
    code: 'weights_unavailable',
    says: /the server answered 503, several times in a row\. 0 of/,
  },
  {
    name: 'a connection that drops before each body',
    behaviour: () => ({ cutAfter: 0 }),
    code: 'weights_unavailable',
    says: /the connection broke, several times in a row\. 0 of/,
  },
  {
    name: '403',
    behaviour: () => failing(403),
    code: 'weights_unavailable',
    says: /the server answered 403\. Put the model's files/,
  },
  {
    name: '404',
    behaviour: () => failing(404),
    code: 'weights_unavailable',
    says: /the server answered 404\. Put .* \(npx localtext pull, followed by the model's id\)/,
  },
  {
    name: '511',
    behaviour: () => failing(511),
    code: 'weights_unavailable',
    says: /answered 511\. The network requires a sign-in\. Open any web page, sign in, and try again\.$/,
  },
  {
    name: 'a part of the file in place of the whole',
    behaviour: (answer) => ({ refusesRange: true, ...(answer > 0 && { status: 206 }) }),
    code: 'weights_unavailable',
    says: /answered 206\. That is a part of the file, although the whole was requested: a proxy/,
  },
  {
    name: 'a part of 100 bytes whatever is asked for',
    behaviour: () => ({ maxRange: 100, status: 206 }),
    code: 'weights_unavailable',
    says: /answered 206\. That is a part of the file, although the whole was requested/,
  },
  {
    name: 'a web page with status 200',
    behaviour: () => ({ body: HTML, ignoresRange: true, headers: htmlHeaders }),
    code: 'weights_unavailable',
    says: /answered a web page \(HTML, status 200\) instead of/,
  },
  {
    name: 'a web page in answer to a range',
    behaviour: () => ({ headers: htmlHeaders }),
    code: 'weights_unavailable',
    says: /answered a web page \(HTML, status 206\) instead of/,
  },
  {
    name: 'a whole file of another length',
    behaviour: (_, body) => ({ body: Buffer.concat([body, Buffer.from('x')]), ignoresRange: true }),
    code: 'weights_corrupt',
    says: /has \d+ bytes, which is not what the catalog says/,
  },
  {
    name: 'no ranges, and a connection that drops after each megabyte',
    behaviour: () => ({ cutAfter: 2 ** 20, ignoresRange: true }),
    code: 'weights_unavailable',
    says: /cannot continue a file \(byte ranges\), several times/,
  },
  {
    name: 'another file of the same length',
    behaviour: (_, body) => ({ body: flipped(body) }),
    code: 'weights_corrupt',
    says: /does not have the SHA-256 that the catalog says/,
  },
];
