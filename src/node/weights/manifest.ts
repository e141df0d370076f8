import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WeightFile } from '../../catalog/catalog.ts';
import { MANIFEST, manifestSchema, type Manifest } from '../../catalog/manifest.ts';

/** Adds files to the manifest of a models folder; what it lists besides stays. */
export async function writeManifest(folder: string, files: readonly WeightFile[]): Promise<void> {
  const path = join(folder, MANIFEST);
  const before = await readFile(path, 'utf8').catch(() => '');
  const manifest: Manifest = parse(before) ?? { version: 1, files: {} };
  for (const { path: name, bytes, sha256 } of files) manifest.files[name] = { bytes, sha256 };
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  if (text === before) return;
  await mkdir(folder, { recursive: true });
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, text);
  await rename(draft, path);
}

/** null: there is none, or none that can be gone on with. */
function parse(text: string): Manifest | null {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
