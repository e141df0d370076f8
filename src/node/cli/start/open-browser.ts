import { spawn } from 'node:child_process';

/** Opens the user's browser; where there is none, nothing happens: the URL has been printed. */
export function openBrowser(url: string, platform = process.platform): void {
  const [command, ...args] =
    platform === 'darwin'
      ? ['open', url]
      : platform === 'win32'
        ? ['cmd', '/c', 'start', '', url]
        : ['xdg-open', url];
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
