import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import * as catalog from '../../src/catalog.ts';
import { DEFAULT_LIMITS } from '../../src/database/database.ts';
import { FORMATS } from '../../src/grammar/formats.ts';
import * as doctor from '../../src/node/cli/doctor-command.ts';
import * as init from '../../src/node/cli/init-command.ts';
import * as pull from '../../src/node/cli/pull-command.ts';
import * as start from '../../src/node/cli/start-command.ts';
import { globIgnores } from '../../src/node/vite-plugin/vite-plugin.ts';

const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync('examples').map((name) => `examples/${name}/README.md`),
];
const COMMANDS: Record<string, { help: string }> = { doctor, init, pull, start };

describe.each(DOCUMENTS)('%s', (path) => {
  let text = '';
  beforeAll(async () => {
    text = await readFile(path, 'utf8');
  });
  const blocks = (language: string): string[] =>
    [...text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code);

  test('its relative links resolve', () => {
    const targets = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, target = '']) => target);
    for (const target of targets) expect(existsSync(join(dirname(path), target)), target).toBe(true);
  });

  test('its npm scripts exist', async () => {
    const folder = existsSync(join(dirname(path), 'package.json')) ? dirname(path) : '.';
    const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const commands = blocks('sh').flatMap((block) => block.trim().split('\n'));
    if (path.endsWith('README.md')) expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      const [, name] = /^npm (?:run )?(start|test|[\w:]+)(?: -- .*)?$/.exec(command) ?? [];
      const [script] = /\b(?:scripts|test)\/[\w./-]+/.exec(command) ?? [];
      if (script !== undefined) expect(existsSync(join(folder, script)), script).toBe(true);
      if (name !== undefined && !['ci', 'install'].includes(name))
        expect(Object.keys(scripts)).toContain(name);
    }
  });

  test('the commands and flags that it names exist', () => {
    for (const [, command = '', rest = ''] of text.matchAll(/(?:npx |`)localtext ([a-z]+)\b([^`\n]*)/g)) {
      const said = COMMANDS[command]?.help;
      expect(said, command).toMatch(new RegExp(`^Usage: localtext ${command}\\b`));
      for (const [flag] of rest.matchAll(/--[a-z-]+/g)) expect(said).toContain(flag);
    }
  });

  test('its code imports only exported names', async () => {
    const sources: Record<string, string> = {
      localtext: await readFile('src/index.ts', 'utf8'),
      'localtext/sw': await readFile('src/service-worker/index.ts', 'utf8'),
      'localtext/catalog': Object.keys(catalog).join(' '),
      'localtext/vite': await readFile('src/node/vite-plugin/vite-plugin.ts', 'utf8'),
      'localtext/store': await readFile('src/page/status-store/index.ts', 'utf8'),
      'localtext/language-model': await readFile('src/language-model/index.ts', 'utf8'),
      'localtext/react': await readFile('src/page/react/index.ts', 'utf8'),
    };
    for (const code of blocks('js'))
      for (const [, names = '', from = ''] of code.matchAll(
        /import \{?([^}']+?)\}? from '(localtext[^']*)'/g,
      ))
        for (const name of names.split(','))
          expect(sources[from], from).toMatch(new RegExp(`\\b${name.replace('{', '').trim()}\\b`));
  });
});

test('the README has at most 130 lines', async () => {
  expect((await readFile('README.md', 'utf8')).trimEnd().split('\n').length).toBeLessThanOrEqual(130);
});

test('the README says how much `npm start` downloads', async () => {
  const { models } = catalog.extendCatalog(catalog.defaultCatalog, catalog.voices);
  const variants = models.flatMap((model) => model.variants).filter((variant) => !variant.optIn);
  const files = new Map(variants.flatMap((each) => each.files).map((file) => [file.sha256, file.bytes]));
  const bytes = [...files.values()].reduce((sum, each) => sum + each, 0);
  expect(await readFile('README.md', 'utf8')).toContain(
    `downloads the weights (${Math.round(bytes / 1e6)} MB, once)`,
  );
});

test('the model hub of the extension example is a valid choice', async () => {
  const text = await readFile('examples/chrome-extension/extension/options.js', 'utf8');
  const code = [...text.matchAll(/^\/\/ ((?:import|export) .*)$/gm)].map(([, line = '']) =>
    line.replace(/^import (.*) from .*/, 'const $1 = catalog;').replace(/^export /, ''),
  );
  const chosen = new Function('catalog', `${code.join('\n')}\nreturn { MODEL, options };`)(catalog) as {
    MODEL: string;
    options: { catalog: catalog.Catalog };
  };
  expect(chosen.options.catalog.models.map(({ id }) => id)).toContain(chosen.MODEL);
});

test('the patterns of docs/service-worker.md are those of globIgnores()', async () => {
  const text = await readFile('docs/service-worker.md', 'utf8');
  const [, patterns = ''] = /```json\n(.*?)```/s.exec(text) ?? [];
  expect(JSON.parse(patterns)).toEqual(globIgnores());
});

test('docs/compatibility.md has the formats of schemas, and the limits of a key', async () => {
  const text = await readFile('docs/compatibility.md', 'utf8');
  const formats = Object.keys(FORMATS).map((format) => `\`${format}\``);
  expect(text).toContain(`| \`format\` | enforced: ${formats.join(', ')} and`);
  const { requestsPerMinute, tokensPerMinute, inFlight } = DEFAULT_LIMITS;
  expect(text).toContain(
    `| ${requestsPerMinute} requests and ${tokensPerMinute.toLocaleString('en')} tokens a minute, ${inFlight} requests in flight |`,
  );
});

test('the catalog of docs/models.md is valid', async () => {
  const text = await readFile('docs/models.md', 'utf8');
  const [, extension = ''] = /extendCatalog\(defaultCatalog, (\{\n.*?\n\})\);/s.exec(text) ?? [];
  const extended = catalog.extendCatalog(catalog.defaultCatalog, literal(extension));
  expect(extended.models.map(({ id }) => id)).toContain('company-chat');
  expect(extended.aliases).toMatchObject({ 'gpt-4o-mini': 'company-chat' });
  const pulled = catalog.defaultCatalog.models.flatMap(({ variants }) =>
    variants.flatMap(({ files }) => files),
  );
  const variants = extended.models.find(({ id }) => id === 'company-chat')?.variants ?? [];
  const named = variants.flatMap(({ files }) => files);
  expect(named).toHaveLength(1);
  for (const file of named) expect(pulled).toContainEqual(file);
});

/** An object literal, as it stands in a program. */
function literal(source: string): catalog.CatalogExtension {
  return new Function(`return (${source});`)() as catalog.CatalogExtension;
}
