import { cpSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Connect, Plugin } from 'vite';

/** Copies the public folder into the build without the weights, which the servers find where `localtext pull` puts them. */
export function publicFiles(weights: string): Plugin {
  let publicDir: string;
  return {
    name: 'localtext-public-files',
    config: () => ({ build: { copyPublicDir: false } }),
    configResolved(config) {
      ({ publicDir } = config);
    },
    writeBundle: ({ dir }) => {
      if (dir) cpSync(publicDir, dir, { recursive: true, filter: (path) => resolve(path) !== weights });
    },
  };
}

/** Origins from which the playground's visitors may fetch weights, once they allow the model hub. */
const HUB = [
  'https://huggingface.co',
  'https://*.huggingface.co',
  'https://*.hf.co',
  'https://raw.githubusercontent.com',
];

const BASELINE = {
  'default-src': ["'self'"],
  'script-src': ["'self'", "'wasm-unsafe-eval'"],
  'style-src': ["'self'"],
  // Pictures of messages are blobs.
  'img-src': ["'self'", 'data:', 'blob:'],
  'connect-src': ["'self'", ...HUB],
  'worker-src': ["'self'"],
  // Files and recordings of the Speech view.
  'media-src': ["'self'", 'blob:'],
  'manifest-src': ["'self'"],
  'object-src': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'require-trusted-types-for': ["'script'"],
  'trusted-types': ['localtext', 'dompurify'],
};

/** Directive that is allowed only in a header. */
const FRAMES = { 'frame-ancestors': ["'self'"] };

/** Vite's dev server puts styles into the page as elements, and tells of changes over a WebSocket. */
const DEV = { 'style-src': ["'self'", "'unsafe-inline'"], 'connect-src': ["'self'", 'ws:', ...HUB] };

const written = (directives: Record<string, string[]>): string =>
  Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources.join(' ')}`)
    .join('; ');

export interface ContentSecurityOptions {
  /** More places to fetch from. */
  connect?: string[];
  /** Pages that are sent without a policy. */
  except?: RegExp;
}

/**
 * The playground's Content-Security-Policy and `nosniff`: headers of the dev and preview servers, for pages and for the
 * workers' scripts, whose own policy these are; and in the built page, for hosts that send no headers.
 */
export function contentSecurity({ connect = [], except }: ContentSecurityOptions = {}): Plugin {
  const send = (directives: Record<string, string[]>): Connect.NextHandleFunction => {
    const connectTo = [...(directives['connect-src'] ?? []), ...connect];
    const policy = written({ ...directives, 'connect-src': connectTo, ...FRAMES });
    return (request, response, next) => {
      response.setHeader('X-Content-Type-Options', 'nosniff');
      if (!except?.test(request.url ?? '')) response.setHeader('Content-Security-Policy', policy);
      next();
    };
  };
  return {
    name: 'localtext-content-security',
    configureServer({ middlewares }) {
      middlewares.use(send({ ...BASELINE, ...DEV }));
    },
    configurePreviewServer({ middlewares }) {
      middlewares.use(send(BASELINE));
    },
    transformIndexHtml: (_html, { server }) =>
      server
        ? []
        : [
            {
              tag: 'meta',
              attrs: { 'http-equiv': 'Content-Security-Policy', content: written(BASELINE) },
              injectTo: 'head-prepend',
            },
          ],
  };
}
