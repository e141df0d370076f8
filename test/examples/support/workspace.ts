import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const windows = process.platform === 'win32';

/** One node_modules for all examples: installed at the first run, looked over at the next. */
const FOLDER = resolve('node_modules/.cache/localtext-examples');

interface Package {
  dependencies: Record<string, string>;
  overrides?: Record<string, string>;
}

/** Runs a program to its end. @throws with all that it said when it fails */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await execute(command, args, { cwd, shell: windows, timeout: 300_000 });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed in ${cwd}:\n${stdout}\n${stderr}`, { cause: error });
  }
}

/** Packs localtext as it would be published. @returns path of the tarball */
export async function packTarball(): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  const name = await run(resolve(), 'npm', 'pack', '--pack-destination', FOLDER, '--loglevel', 'error');
  return join(FOLDER, name.trim().split('\n').at(-1) ?? '');
}

/** The examples, each with localtext from the tarball. @returns their folder */
export async function installExamples(tarball: string): Promise<string> {
  const names = (await readdir('examples')).filter((name) =>
    existsSync(join('examples', name, 'package.json')),
  );
  const overrides: Record<string, string> = {};
  for (const name of names) {
    const target = join(FOLDER, name);
    await rm(target, { recursive: true, force: true });
    await cp(join('examples', name), target, {
      recursive: true,
      filter: (path) => !/[\\/](node_modules|dist|models)$/.test(path),
    });
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
  const root = { name: 'localtext-examples', private: true, workspaces: names, overrides };
  await writeFile(join(FOLDER, 'package.json'), JSON.stringify(root));
  // The tarball changes, and its name does not.
  for (const stale of ['package-lock.json', 'node_modules/.package-lock.json', 'node_modules/localtext'])
    await rm(join(FOLDER, stale), { recursive: true, force: true });
  const flags = ['--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel', 'error'];
  await run(FOLDER, 'npm', 'install', '--ignore-scripts', ...flags);
  return FOLDER;
}
