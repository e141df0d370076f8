import { spawn } from 'node:child_process';

import { CommandError, parseFlags, parsePort, UsageError } from './arguments.ts';
import { hasViteConfig } from '../files.ts';
import { print } from './output.ts';
import { DEFAULT_MODELS, defaultFolder, pullWeights } from './pull-command.ts';

const OPENERS: Record<string, string[]> = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] };

/** Opens the user's browser. If there is none, nothing happens: the URL has been printed. */
function openBrowser(url: string): void {
  const [command = '', ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined).unref();
}

const DEFAULT_PORT = 4173;

export const help = `Usage: localtext start [model or variant ...] [--port <number>] [--host <address>]

Downloads the weights (of the default catalog, and of the models named) if they are not here yet, builds the site of this
folder with Vite (in a clone of localtext: the playground), and serves it.

  --port <number>    fail if this port is taken (default: the first free one from ${DEFAULT_PORT})
  --host <address>   listen on this address (default: localhost). Browsers run service workers only on localhost
                     and over https.
  --help             this text`;

export async function run(args: string[], signal: AbortSignal): Promise<void> {
  const { values, positionals } = parseFlags({
    args,
    allowPositionals: true,
    options: { port: { type: 'string' }, host: { type: 'string', default: 'localhost' } },
  });
  // An empty host is every address of the machine.
  if (values.host.trim() === '') throw new UsageError('--host takes an address, such as localhost.');
  if (!hasViteConfig('.')) {
    const message =
      'localtext start builds the site of this folder with Vite, and there is no vite.config here. A site without Vite: localtext init.';
    throw new CommandError(message);
  }
  const { checkAddress, serve } = await import('./start/serve.ts');
  const port = values.port === undefined ? null : parsePort(values.port);
  const address = { port: port ?? DEFAULT_PORT, strictPort: port !== null, host: values.host };
  await checkAddress(address);
  await pullWeights([...DEFAULT_MODELS, ...positionals], defaultFolder(), signal);
  const server = await serve(address, signal);
  print(`\n  localtext is at ${server.url}\n  Press Ctrl+C to stop.\n`);
  if (process.stdout.isTTY && !process.env['CI']) openBrowser(server.url);
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await server.close();
}
