import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

import { describe, expect, test } from 'vitest';

import { parseFlags, parsePort, UsageError } from '../../../../src/node/cli/arguments.ts';
import { cacheFolder, namesOf } from '../../../../src/node/cli/pull-command.ts';

describe('flags', () => {
  test('unknown ones are a usage error', () => {
    expect(() => parseFlags({ args: ['--prot', '1'], options: { port: { type: 'string' } } })).toThrow(
      UsageError,
    );
  });

  test.each(['0', '65536', '-1', '80.5', '1e3', 'http', ''])('port %j is refused', (text) => {
    expect(() => parsePort(text)).toThrow(`--port takes a number from 1 to 65535, not "${text}".`);
  });

  test('a port', () => {
    expect(parsePort('5000')).toBe(5000);
  });
});

describe('cache folder', () => {
  test.each([
    [{ LOCALTEXT_CACHE: '/own' }, 'linux', '/own'],
    // Programs that are started get its path, and have another working folder.
    [{ LOCALTEXT_CACHE: 'own' }, 'linux', resolve('own')],
    [{ XDG_CACHE_HOME: 'xdg' }, 'linux', resolve('xdg', 'localtext')],
    [{ XDG_CACHE_HOME: '/xdg' }, 'linux', join('/xdg', 'localtext')],
    [{}, 'linux', join(homedir(), '.cache', 'localtext')],
    [{}, 'darwin', join(homedir(), 'Library', 'Caches', 'localtext')],
    [{ LOCALAPPDATA: 'C:/Data' }, 'win32', join('C:/Data', 'localtext', 'Cache')],
  ] as const)('%o on %s', (env, platform, folder) => {
    expect(cacheFolder(env, platform)).toBe(folder);
  });
});

test('the name of a model stands for the weights that pages use unasked', () => {
  expect(namesOf('silver-lark-4')).toEqual(['hibari-heart-int8']);
  expect(namesOf('kokoro-82m-int8')).toEqual(['kokoro-82m-int8']);
});
