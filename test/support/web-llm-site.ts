import { fileURLToPath } from 'node:url';
import { createServer, type Plugin } from 'vite';
import { atEnd } from './at-end.ts';
import { tempFolder } from './temp-folder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A page with the web-llm adapter in a worker, and nothing else of the product. */
export async function startWebLlmSite(): Promise<{ url: string }> {
  const cacheDir = await tempFolder('web-llm');
  const server = await createServer({
    root,
    configFile: false,
    cacheDir,
    logLevel: 'warn',
    appType: 'custom',
    plugins: [page],
    server: { host: 'localhost', port: 0, watch: null, hmr: false },
    // A package found only while a test runs would be bundled again, and imports under way would fail.
    optimizeDeps: { entries: ['test/support/web-llm/*.ts'] },
  });
  await server.listen();
  atEnd(() => server.close());
  const [url = ''] = server.resolvedUrls?.local ?? [];
  return { url };
}

const page: Plugin = {
  name: 'web-llm-page',
  configureServer(server) {
    server.middlewares.use('/page.html', (_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(
        '<!doctype html><title>web-llm</title><script type="module" src="/test/support/web-llm/web-llm-page.ts"></script>',
      );
    });
  },
};
