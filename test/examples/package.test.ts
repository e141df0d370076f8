import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';

import { beforeAll, expect, inject, test } from 'vitest';

import { tempFolder } from '../support/temp-folder.ts';
import { run } from './support/workspace.ts';

const installed = join(inject('examples'), 'node_modules/localtext');
let files: string[];

beforeAll(async () => {
  const entries = await readdir(installed, { recursive: true, withFileTypes: true });
  files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      join(parentPath, name)
        .slice(installed.length + 1)
        .replaceAll('\\', '/'),
    );
});

test('it holds what is used, and no weights, tests or site', async () => {
  expect(
    files.filter(
      (path) =>
        !/^(dist\/(lib|node|static|types|wasm)\/|docs\/|examples\/|package\.json$|README\.md$)/.test(path),
    ),
  ).toEqual(expect.arrayContaining(['dist/THIRD-PARTY-LICENCES.txt']));
  expect(files.filter((path) => /\.(gguf|safetensors|onnx)$/.test(path))).toEqual([]);
  expect(
    files.filter((path) => path.endsWith('.wasm')).filter((path) => !path.startsWith('dist/wasm/')),
  ).toEqual([]);
  const ours = files.filter((path) => !/^(docs|examples)\//.test(path));
  expect(ours.filter((path) => /\.(map|tsx?)$|test|playground/.test(path.replace(/\.d\.ts$/, '')))).toEqual(
    [],
  );
  const { exports } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
    exports: Record<string, string | Record<string, string>>;
  };
  for (const target of Object.values(exports).flatMap((each) =>
    typeof each === 'string' ? each : Object.values(each),
  ))
    expect(existsSync(join(installed, target)), target).toBe(true);
});

test('it says where it comes from, and what it asks of npm is in it', async () => {
  const description = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  for (const field of ['repository', 'homepage', 'bugs', 'keywords', 'license'])
    expect(description).toHaveProperty(field);
  // What npm runs, or asks to be allowed to run, where the package is installed.
  for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
    expect(description).not.toHaveProperty(['scripts', script]);
});

test('the links of its README lead to files in it', async () => {
  const text = await readFile(join(installed, 'README.md'), 'utf8');
  const targets = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, target = '']) => target);
  expect(targets.length).toBeGreaterThan(5);
  expect(targets.filter((target) => !existsSync(join(installed, target)))).toEqual([]);
});

test('it needs no package but Vite, for its plugin, and React, for its hooks', async () => {
  const needed = new Set<string>();
  for (const path of files.filter((each) => /^dist\/(lib|node)\/.*\.js$/.test(each))) {
    const code = await readFile(join(installed, path), 'utf8');
    const imports =
      /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*["']([^"'.][^"']*)["']|^import\s*["']([^"'.][^"']*)["']|\bimport\(\s*["']([^"'.][^"']*)["']\)/gm;
    for (const [, ...names] of code.matchAll(imports))
      for (const name of names)
        if (name !== undefined && !isBuiltin(name)) needed.add(`${dirname(path)}: ${name}`);
  }
  expect([...needed].toSorted()).toEqual(['dist/lib/react: react', 'dist/node: vite']);
});

test('no chunk imports an entry, which a query string in its address would load twice', async () => {
  const entries = new Set(
    ['page', 'sw', 'catalog', 'store', 'react', 'language-model']
      .map((folder) => `${folder}/index`)
      .concat('worker/worker'),
  );
  const importing: string[] = [];
  for (const path of files.filter((each) => /^dist\/(lib|static)\/.*\.js$/.test(each))) {
    const code = await readFile(join(installed, path), 'utf8');
    for (const [, name] of code.matchAll(/["'`]\.\/([\w-]+)\.js["'`]/g))
      if (name === 'localtext' || entries.has(`${path.split('/').at(-2)}/${name}`)) importing.push(path);
  }
  expect(importing).toEqual([]);
});

test('localtext init copies every script that another one imports; the package has web-llm once', async () => {
  const folder = await tempFolder('init');
  await run(folder, process.execPath, join(installed, 'dist/node/cli.js'), 'init', folder);
  const copied = new Set(await readdir(join(folder, 'localtext')));
  const imported = new Set<string>();
  for (const name of [...copied].filter((each) => each.endsWith('.js')))
    for (const [, target = ''] of (await readFile(join(folder, 'localtext', name), 'utf8')).matchAll(
      /(?:\bfrom|\bimport)\s*\(?["'`]\.\/([\w.-]+\.js)["'`]/g,
    ))
      imported.add(target);
  expect(imported.size).toBeGreaterThan(20);
  expect([...imported].filter((target) => !copied.has(target))).toEqual([]);
  expect([...imported].filter((target) => target.startsWith('web-llm-'))).toHaveLength(1);
  const sizes = await Promise.all(
    files
      .filter((path) => path.endsWith('.js'))
      .map(async (path) => (await readFile(join(installed, path))).length),
  );
  expect(sizes.filter((bytes) => bytes > 5e6)).toHaveLength(1);
});

test("the second command of an example's README installs the packed package alone", async () => {
  const folder = await tempFolder('readme');
  const tarball = inject('tarball');
  await copyFile(tarball, join(folder, basename(tarball)));
  const example = join(folder, 'examples/plain-html');
  await mkdir(example, { recursive: true });
  for (const name of ['README.md', 'package.json'])
    await copyFile(join('examples/plain-html', name), join(example, name));
  const [, command = ''] = /```sh\n.+\n(.+)\n/.exec(await readFile(join(example, 'README.md'), 'utf8')) ?? [];
  const [program = '', ...args] = command.split(' ');
  await run(example, program, ...args, '--no-audit', '--no-fund');
  expect(await run(example, 'npx', 'localtext', '--version')).toBe(`${/-(\d.*)\.tgz$/.exec(tarball)?.[1]}\n`);
  const [before, after] = ['examples/plain-html', example].map((path) =>
    readFile(join(path, 'package.json'), 'utf8'),
  );
  expect(await after).toBe(await before);
});

test('publint and are-the-types-wrong find nothing', async () => {
  const tarball = inject('tarball');
  await run(resolve(), 'npx', '--no', '--', 'publint', tarball, '--strict');
  await run(resolve(), 'npx', '--no', '--', 'attw', '--profile', 'esm-only', tarball);
});

const sources: Record<string, { code: string; lib: string[]; types: string[] }> = {
  page: {
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    types: [],
    code: `
      import { createFetch, keys, LocaltextError, start, type Localtext } from 'localtext';
      import { defaultCatalog, extendCatalog } from 'localtext/catalog';
      const catalog = extendCatalog(defaultCatalog, { aliases: { 'gpt-4o-mini': 'indigo-owl-4' } });
      const localtext: Localtext = await start({ catalog, isolation: ['/app/'], workerUrl: '/worker.js' });
      const { key } = await localtext.keys.issue({ label: 'a', limits: { requestsPerMinute: 3 } });
      await localtext.ready('amber-phoenix-4', { onProgress: ({ loadedBytes }) => console.log(loadedBytes.toFixed()) });
      await createFetch()('/v1/models', { headers: { authorization: key } });
      await keys.revoke('key_1').catch((error: unknown) => error instanceof LocaltextError && error.code);
      // @ts-expect-error: there is no such option
      await start({ scope: '/' });`,
  },
  store: {
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    types: [],
    code: `
      import { start } from 'localtext';
      import { createStore, showModel, type LocaltextStore, type ModelState } from 'localtext/store';
      const store: LocaltextStore = createStore(() => start({ base: '/app/' }));
      const model: ModelState = store.getModel('amber-phoenix-4');
      store.subscribe(() => console.log(store.getState().status?.models.length, model.progress?.loadedBytes))();
      await store.load('amber-phoenix-4');
      store.cancel('amber-phoenix-4');
      await showModel(store, 'amber-phoenix-4', document.body, { ask: false });
      // @ts-expect-error: there is no such state
      if (model.state === 'done') console.log(model);`,
  },
  'language-model': {
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    types: [],
    code: `
      import { start } from 'localtext';
      import { installLanguageModel, type LanguageModelOptions } from 'localtext/language-model';
      const options: LanguageModelOptions = { model: 'amber-phoenix-4', maxTokens: 9, replace: true };
      installLanguageModel(start(), options);
      installLanguageModel(await start(), { model: 'amber-phoenix-4' });
      // @ts-expect-error: it needs a model
      installLanguageModel(start(), {});`,
  },
  react: {
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    types: [],
    code: `
      import { start } from 'localtext';
      import { LocaltextProvider, useLocaltext, useModel, type Model } from 'localtext/react';
      import { createStore } from 'localtext/store';
      const store = createStore(() => start());
      const { state, load }: Model = useModel('amber-phoenix-4');
      LocaltextProvider({ store, children: [state, useLocaltext().localtext?.baseURL] });
      load();
      // @ts-expect-error: it takes an id
      useModel();`,
  },
  sw: {
    lib: ['ES2023', 'WebWorker'],
    types: [],
    code: `
      import { addLocaltext, handleV1, matchV1 } from 'localtext/sw';
      import { registerRoute } from 'workbox-routing';
      addLocaltext();
      for (const method of ['GET', 'POST'] as const) registerRoute(matchV1, handleV1, method);
      // @ts-expect-error: not a URL
      matchV1(3);`,
  },
  vite: {
    lib: ['ES2023'],
    types: ['node'],
    code: `
      import { defineConfig } from 'vite';
      import localtext from 'localtext/vite';
      export default defineConfig({ plugins: [localtext({ serviceWorker: 'src/sw.ts' })] });
      // @ts-expect-error: there is no such option
      localtext({ weights: 3 });`,
  },
};

test.each(Object.entries(sources))('its types serve an app: %s', async (name, { code, lib, types }) => {
  const folder = await mkdtemp(join(inject('examples'), 'types-'));
  try {
    await writeFile(join(folder, `${name}.ts`), code);
    const compilerOptions = {
      target: 'ES2023',
      module: 'NodeNext',
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      // Of localtext, not of the others.
      skipLibCheck: name !== 'page',
      typeRoots: [resolve('node_modules/@types')],
      paths: { react: [resolve('node_modules/@types/react')] },
      lib,
      types,
    };
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    expect(
      await run(folder, process.execPath, resolve('node_modules/typescript/bin/tsc'), '-p', folder),
    ).toBe('');
  } finally {
    await rm(folder, { recursive: true });
  }
});
