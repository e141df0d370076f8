import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WeightFile } from '../../../catalog/catalog.ts';
import { MANIFEST, manifestSchema, type Manifest } from '../../../catalog/manifest.ts';
import { replaceFile } from '../../files.ts';

/** Adds files and commits to the manifest of a models folder; what it lists besides stays. */
export async function writeManifest(
  folder: string,
  files: readonly WeightFile[],
  commits: Readonly<Record<string, string>>,
): Promise<void> {
  const path = join(folder, MANIFEST);
  const before = await readFile(path, 'utf8').catch(() => '');
  const manifest: Manifest = parse(before) ?? { version: 1, files: {} };
  for (const { path: name, bytes, sha256 } of files) manifest.files[name] = { bytes, sha256 };
  if (Object.keys(commits).length > 0) manifest.commits = { ...manifest.commits, ...commits };
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  if (text !== before) await replaceFile(path, text);
}

/** The manifest of a models folder; null: there is none that can be read. */
export async function readManifest(folder: string): Promise<Manifest | null> {
  return parse(await readFile(join(folder, MANIFEST), 'utf8').catch(() => ''));
}

function parse(text: string): Manifest | null {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
