import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { chromium } from 'playwright';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MACOS_CHROME = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/**
 * Path of a Chromium: the one named by LOCALTEXT_CHROMIUM, Playwright's own, or one that is installed; else it is
 * installed, by Playwright or by apt.
 */
export function findBrowser(): string {
  const named = process.env['LOCALTEXT_CHROMIUM'];
  if (named) {
    if (existsSync(named)) return named;
    throw new Error(`LOCALTEXT_CHROMIUM names ${named}, where there is no file.`);
  }
  return present() ?? install();
}

function present(): string | null {
  const paths = (process.env['PATH'] ?? '').split(delimiter);
  const installed = NAMES.flatMap((name) => paths.map((path) => join(path, name)));
  return [chromium.executablePath(), ...installed, MACOS_CHROME].find(isExecutable) ?? null;
}

function install(): string {
  const ways: string[][] = [['npx', 'playwright', 'install', 'chromium']];
  if (process.platform === 'linux' && process.getuid?.() === 0)
    ways.push(['sh', '-c', 'apt-get update && apt-get install -y chromium']);
  for (const [command = '', ...args] of ways) {
    console.error(`No Chromium here. Trying: ${command} ${args.join(' ')}`);
    spawnSync(command, args, {
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: 600_000,
      shell: process.platform === 'win32',
    });
    const path = present();
    if (path !== null) return path;
  }
  throw new Error(
    `The browser tests need Chromium. It was neither found nor could it be installed (tried: ${ways.map((way) => way.join(' ')).join('; ')}). ` +
      'Install Chromium or Chrome and put it on the PATH, or name it in LOCALTEXT_CHROMIUM.',
  );
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
