import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const windows = process.platform === 'win32';

/** One node_modules for all examples: installed at the first run, looked over at the next. */
export const FOLDER = resolve('node_modules/.cache/localtext-examples');
/** Folder of the example that `npm test` builds. */
export const SMOKE_FOLDER = resolve('node_modules/.cache/localtext-smoke');

interface Package {
  dependencies: Record<string, string>;
  overrides?: Record<string, string>;
}

/** Runs a program to its end. @throws with all that it said when it fails */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  try {
    // Vitest's value makes Next load React's builds for development.
    const { NODE_ENV: _, ...env } = process.env;
    const { stdout } = await execute(command, args, { cwd, env, shell: windows, timeout: 300_000 });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed in ${cwd}:\n${stdout}\n${stderr}`, { cause: error });
  }
}

/** Says when the examples are there: empty, or what went wrong. */
const ENDED = join(FOLDER, 'installed.txt');
const INSTALL_MS = 600_000;

/** @returns what to call at the end of it, with what went wrong */
export async function beginInstall(): Promise<(error: string) => Promise<void>> {
  await mkdir(FOLDER, { recursive: true });
  await rm(ENDED, { force: true });
  return async (error) => {
    await writeFile(`${ENDED}.part`, error);
    await rename(`${ENDED}.part`, ENDED);
  };
}

/** Resolves when the examples are installed. @throws with what kept them from it */
export async function installed(): Promise<void> {
  for (const deadline = Date.now() + INSTALL_MS; Date.now() < deadline; await delay(200)) {
    const error = await readFile(ENDED, 'utf8').catch(() => null);
    if (error === '') return;
    if (error !== null) throw new Error(error);
  }
  throw new Error(`The examples were not installed within ${INSTALL_MS / 1000} s.`);
}

/** Path of the tarball, as `npm pack` names it. */
export async function tarballPath(folder = FOLDER): Promise<string> {
  const { name, version } = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, string>;
  return join(folder, `${name}-${version}.tgz`);
}

/** Packs localtext as it would be published. */
export async function packTarball(folder = FOLDER): Promise<void> {
  await mkdir(folder, { recursive: true });
  await run(resolve(), 'npm', 'pack', '--pack-destination', folder, '--loglevel', 'error');
}

/**
 * Copies an example, with localtext from the tarball and its other packages from the repository's own node_modules: nothing is
 * downloaded.
 */
export async function unpackExample(name: string, folder: string): Promise<void> {
  const target = join(folder, name);
  await rm(target, { recursive: true, force: true });
  await copyExample(name, target);
  const unpacked = join(target, 'node_modules/localtext');
  await mkdir(unpacked, { recursive: true });
  await run(unpacked, 'tar', '-xzf', await tarballPath(folder), '--strip-components=1');
  const packages = join(folder, 'node_modules');
  await rm(packages, { recursive: true, force: true });
  await symlink(resolve('node_modules'), packages, 'junction');
}

const copyExample = (name: string, target: string): Promise<void> =>
  cp(join('examples', name), target, {
    recursive: true,
    filter: (path) => !/[\\/](node_modules|dist|models)$/.test(path),
  });

/** @returns the names of those that are packages */
export async function allExamples(): Promise<string[]> {
  const names = await readdir('examples');
  return names.filter((name) => existsSync(join('examples', name, 'package.json')));
}

/** Copies these examples into a folder and installs them, each with localtext from the tarball there. */
export async function installExamples(names: readonly string[], folder = FOLDER): Promise<void> {
  const tarball = await tarballPath(folder);
  const overrides: Record<string, string> = {};
  for (const name of names) {
    const target = join(folder, name);
    await rm(target, { recursive: true, force: true });
    await copyExample(name, target);
    const path = join(target, 'package.json');
    const description = JSON.parse(await readFile(path, 'utf8')) as Package;
    for (const [dependency, version] of Object.entries(description.overrides ?? {}))
      overrides[dependency] = version.startsWith('$')
        ? (description.dependencies[version.slice(1)] ?? version)
        : version;
    description.dependencies['localtext'] = `file:${tarball}`;
    delete description.overrides;
    await writeFile(path, JSON.stringify(description));
  }
  const root = {
    name: 'localtext-examples',
    private: true,
    workspaces: names,
    overrides,
    devDependencies: { 'vite-plugin-pwa': '2.0.0' },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(root));
  // The tarball changes, and its name does not.
  for (const stale of ['package-lock.json', 'node_modules/.package-lock.json', 'node_modules/localtext'])
    await rm(join(folder, stale), { recursive: true, force: true });
  const flags = ['--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel', 'error'];
  await run(folder, 'npm', 'install', '--ignore-scripts', ...flags);
}
