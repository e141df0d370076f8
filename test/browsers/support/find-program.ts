import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { isExecutable } from '../../support/find-browser.ts';

/** Folders beside those of `PATH`. */
const FOLDERS = [
  ...['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/webkit2gtk-4.1`),
  '/usr/sbin',
];

const programs = {
  firefox: { names: ['firefox-esr', 'firefox'], packages: ['firefox-esr'], variable: 'LOCALTEXT_FIREFOX' },
  webkitDriver: {
    names: ['WebKitWebDriver'],
    packages: ['webkit2gtk-driver'],
    variable: 'LOCALTEXT_WEBKIT_DRIVER',
  },
  miniBrowser: {
    names: ['MiniBrowser'],
    packages: ['libwebkit2gtk-4.1-0'],
    variable: 'LOCALTEXT_MINIBROWSER',
  },
  xvfb: { names: ['Xvfb'], packages: ['xvfb'], variable: 'LOCALTEXT_XVFB' },
  nginx: { names: ['nginx'], packages: ['nginx-light'], variable: 'LOCALTEXT_NGINX' },
};

/**
 * Path of a program that drives a browser, or of nginx: named by its variable, or installed; else apt installs it (Debian, as root).
 * @throws Error that says what to install. One that is missing is a failure, never a skipped test.
 */
export function findProgram(which: keyof typeof programs): string {
  const { names, packages, variable } = programs[which];
  const named = process.env[variable];
  if (named) return named;
  const present = find(names);
  if (present !== null) return present;
  if (process.platform === 'linux' && process.getuid?.() === 0) {
    console.error(`${names[0]} is not installed. Installing ${packages.join(' ')} by apt.`);
    const command = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`;
    spawnSync('sh', ['-c', command], { stdio: ['ignore', 'inherit', 'inherit'], timeout: 600_000 });
    const installed = find(names);
    if (installed !== null) return installed;
  }
  throw new Error(
    `${names[0]} was not found. Install it (Debian: apt-get install ${packages.join(' ')}), or set ${variable} to its path.`,
  );
}

function find(names: string[]): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...FOLDERS];
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable) ?? null;
}
