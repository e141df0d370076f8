import { resolve } from 'node:path';

import { rolldown } from 'rolldown';

/**
 * Bundles pieces of code as an application's bundler would, each to `<name>.js` with chunks that they share.
 * @param samples code by name; what it imports is found in this project's packages
 * @returns code by file name
 */
export async function bundleSamples(samples: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const place = (name: string): string => resolve(`sample:${name}.js`);
  const codes = new Map([...samples].map(([name, code]) => [place(name), code]));
  const bundle = await rolldown({
    input: Object.fromEntries([...samples.keys()].map((name) => [name, place(name)])),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [
      {
        name: 'samples',
        resolveId: (id) => (codes.has(id) ? id : null),
        load: (id) => codes.get(id) ?? null,
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', entryFileNames: '[name].js' });
  await bundle.close();
  return new Map(output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file.code]] : [])));
}
