import { runnerImport } from 'vite';

/** Imports a module in TypeScript, which Vite compiles. */
export async function loadModule(path) {
  const { module } = await runnerImport(path, { configFile: false, logLevel: 'warn' });
  return module;
}
