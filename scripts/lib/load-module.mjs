import { createServer } from 'vite';

/** Imports a module in TypeScript, and what that imports later. Vite compiles them, as long as the process runs. */
export async function loadModule(path) {
  const server = await createServer({
    configFile: false,
    appType: 'custom',
    logLevel: 'warn',
    optimizeDeps: { noDiscovery: true },
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  });
  return server.ssrLoadModule(path);
}
