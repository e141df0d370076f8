import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Holders of MIT licences whose packages lack the text. */
const HOLDERS = {
  'onnxruntime-common': 'Microsoft Corporation',
  'onnxruntime-web': 'Microsoft Corporation',
};

/** The licences of the packages whose code is in ours, each with its own text. */
export function writeLicences(modules, path) {
  const folders = new Set(
    modules.flatMap(
      // Files below node_modules/.cache come from packages that are listed anyway.
      (id) => /^(.*node_modules\/(?:@[^/]+\/)?[^/.][^/]*)\//.exec(id.replaceAll('\\', '/'))?.[1] ?? [],
    ),
  );
  const parts = [...folders].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const text = file ? readFileSync(join(folder, file), 'utf8').trim() : mitLicence(HOLDERS[name]);
    return `${name} ${version}\nLicence: ${license}\n\n${text}`;
  });
  writeFileSync(path, `Packages whose code is in this one.\n\n${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
}

function mitLicence(holder) {
  if (holder === undefined) return '';
  const [, body] = readFileSync('node_modules/@wllama/wllama/LICENCE', 'utf8').split(/^Copyright .*$/m);
  return `MIT License\n\nCopyright (c) ${holder}${body}`.trim();
}
