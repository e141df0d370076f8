import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('docs/architecture.md lists files that are there', () => {
  const [, list = ''] =
    /<!-- npm run path -->([^]*?)<!-- end -->/.exec(readFileSync('docs/architecture.md', 'utf8')) ?? [];
  const paths = [...list.matchAll(/^- `([^`]+)`$/gm)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});

test('the linter knows each part', () => {
  const [, parts = ''] = /\(src\/\)\?\(([^)]*)\)/.exec(readFileSync('.oxlintrc.json', 'utf8')) ?? [];
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(parts.split('|')).toEqual(folders.map(({ name }) => name).toSorted());
});

test('`tsc --build` checks with every tsconfig.json', () => {
  const { references } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
    references: { path: string }[];
  };
  const tracked = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '*tsconfig*.json'],
    { encoding: 'utf8' },
  );
  const configurations = tracked
    .split('\n')
    .filter(
      (path) =>
        path !== '' &&
        path !== 'tsconfig.json' &&
        !/^(examples|scripts\/typedoc)\//.test(path) &&
        existsSync(path),
    )
    .map((path) => `./${path.replace('/tsconfig.json', '')}`);
  expect(references.map(({ path }) => path).toSorted()).toEqual(configurations.toSorted());
});

/** The paths that a pattern with braces names. */
function expand(pattern: string): string[] {
  // The innermost braces.
  const [whole, choices] = /\{([^{}]*)\}/.exec(pattern) ?? [];
  if (whole === undefined || choices === undefined) return [pattern];
  return choices.split(',').flatMap((choice) => expand(pattern.replace(whole, choice)));
}

test('each file that a list of tests names is there', () => {
  const texts = ['vitest.config.ts', 'test/support/longest-first.ts', '.oxlintrc.json'].map((path) =>
    readFileSync(path, 'utf8'),
  );
  const patterns = texts.flatMap((text) =>
    [...text.matchAll(/["'](test\/[^"']*\.test\.ts)["']/g)].map(([, pattern = '']) => pattern),
  );
  const paths = patterns.flatMap(expand).filter((path) => !path.includes('*'));
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});
