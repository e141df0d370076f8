import type { Connect } from 'vite';

/** Both make a page cross-origin isolated, which WASM threads need. */
const isolationHeaders = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * Headers for every answer: isolation, and for files with a hash in their name a long life. All others keep the static
 * server's `no-cache` with an ETag.
 */
export function headersFor(assets: string | null): Connect.NextHandleFunction {
  return (request, response, next) => {
    for (const [name, value] of Object.entries(isolationHeaders)) response.setHeader(name, value);
    if (assets !== null && request.url?.startsWith(assets)) {
      response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
    }
    next();
  };
}
