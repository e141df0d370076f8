import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';

import { defaultCatalog } from '../../../../../src/catalog/default-catalog.ts';
import { listen } from '../../../../support/listen.ts';

export interface SiteAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Sent as content-length, and as the total of a range; the body is left out. */
  bytes?: number;
  ranges?: boolean;
}

const script = 'text/javascript';
const isolated = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
const ENGINES = [
  'wllama.wasm',
  'wllama-worker.js',
  'ort-wasm-simd-threaded.wasm',
  'ort-wasm-simd-threaded.js',
].map((name) => entry(`localtext/wasm/${name}`, ''));
/** A page of a build by Vite. */
export const PAGE = '<head><meta name="localtext-build" content="1a"></head><p>a page</html>';

/** A file in the service worker's lists. */
function entry(url: string, body: string, marks?: string[]): object {
  return { url, sha256: createHash('sha256').update(body).digest('hex'), marks };
}

const shell = [
  entry('index.html', PAGE, ['1a', '</html>']),
  entry('assets/app.js', ''),
  entry('picture.png', ''),
];
const files = defaultCatalog.models.flatMap(({ variants }) => variants.flatMap((variant) => variant.files));

/** A site on which nothing is at fault, by path. */
export function soundSite(): Record<string, SiteAnswer> {
  const wasm = { headers: { 'content-type': 'application/wasm' }, body: '' };
  return {
    '/': { headers: { 'content-type': 'text/html', ...isolated }, body: '<p>a page' },
    '/localtext-sw.js': {
      headers: { 'content-type': script },
      body: `self.__WB_MANIFEST=self.__LOCALTEXT_PRECACHE__=${JSON.stringify(shell)};self.__LOCALTEXT_LARGE_FILES__=${JSON.stringify(ENGINES)};\n"localtext:claim"`,
    },
    '/index.html': { headers: { 'content-type': 'text/html' }, body: PAGE },
    '/picture.png': { headers: { 'content-type': 'image/png' }, body: '' },
    '/assets/app.js': { headers: { 'content-type': script }, body: '' },
    '/localtext/wasm/wllama.wasm': wasm,
    '/localtext/wasm/wllama-worker.js': { headers: { 'content-type': script }, body: '' },
    '/localtext/wasm/ort-wasm-simd-threaded.wasm': wasm,
    '/localtext/wasm/ort-wasm-simd-threaded.js': { headers: { 'content-type': script }, body: '' },
    ...Object.fromEntries(files.map(({ path, bytes }) => [`/models/${path}`, { bytes }])),
  };
}

/** Serves it; what is not there is a 404, or what `fallback` says. */
export async function serveSite(
  site: Record<string, SiteAnswer>,
  fallback: SiteAnswer = { status: 404, body: 'not found' },
): Promise<string> {
  const server: Server = createServer((request, response) => {
    const answer = site[decodeURIComponent(request.url ?? '')] ?? fallback;
    const { status = 200, headers = {}, body = '', bytes, ranges = true } = answer;
    if (bytes === undefined) response.writeHead(status, headers).end(body);
    else if (request.headers.range !== undefined && ranges)
      response
        .writeHead(206, { 'content-range': `bytes 0-0/${bytes}`, 'content-length': 1, ...headers })
        .end('x');
    else {
      response.writeHead(status, { 'content-length': bytes, ...headers });
      response.write('x');
    }
  });
  return listen(server);
}
