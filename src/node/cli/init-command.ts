import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { parseFlags } from './flags.ts';
import { copySite } from './init/copy-site.ts';
import { UsageError } from './errors.ts';

export const help = `Usage: localtext init <folder> [--offline] [--servers]

Copies what a site without a bundler needs into the folder that it is served from: the page library as one module
(localtext/localtext.js), its workers, the engines' WASM files, and the service worker. Run it again after each update
of localtext.

  --offline   the service worker keeps the folder's other files too (pages, styles, scripts, images; no weights), so
              that the site opens without a network. Run it again whenever they change.
  --servers   the service worker can call the upstream servers of a catalog, and is 4 KB larger.
  --help      this text`;

export async function run(args: string[]): Promise<void> {
  const { values, positionals } = parseFlags({
    args,
    allowPositionals: true,
    options: {
      offline: { type: 'boolean', default: false },
      servers: { type: 'boolean', default: false },
    },
  });
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) throw new UsageError('localtext init takes one folder.');
  const { files, bytes } = await copySite(resolve(folder), values);
  console.log(`Copied ${files} files (${(bytes / 1e6).toFixed(1)} MB) to ${folder}.`);
  console.log(whatIsLeft(folder));
}

function whatIsLeft(folder: string): string {
  const models = join(folder, 'models');
  const steps = [
    ...(existsSync(models) ? [] : [`Download the weights: npx localtext pull --to ${models}`]),
    [
      'In a page of the folder:',
      '   <script type="module">',
      "     import { start } from './localtext/localtext.js';",
      '     const localtext = await start();',
      "     const { key } = await localtext.keys.ensure({ label: 'my app' });",
      '   </script>',
    ].join('\n'),
    [
      'Serve the folder over https or from localhost. For WASM threads on the first visit, send these headers with every',
      '   page and script; without them the service worker adds them from the second visit on:',
      '   Cross-Origin-Opener-Policy: same-origin',
      '   Cross-Origin-Embedder-Policy: require-corp',
    ].join('\n'),
    'When it is deployed: npx localtext doctor <url>',
  ];
  return ['', 'Left to do:', ...steps.map((step, index) => `${index + 1}. ${step}`)].join('\n');
}
