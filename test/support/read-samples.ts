import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Sample {
  /** `README.md:39`. */
  place: string;
  language: string;
  code: string;
}

/** Every program in the README, the documentation and the examples' own READMEs. */
export async function readSamples(): Promise<Sample[]> {
  const found = await Promise.all(['docs', 'examples'].map(markdownIn));
  const samples: Sample[] = [];
  for (const path of ['README.md', ...found.flat().toSorted()]) {
    const text = await readFile(path, 'utf8');
    for (const match of text.matchAll(/^( *)```(jsx?|tsx?)\n([^]*?)^ *```/gm)) {
      const [, indent = '', language = '', body = ''] = match;
      const code = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
      const line = text.slice(0, match.index).split('\n').length;
      samples.push({ place: `${path}:${line}`, language, code });
    }
  }
  return samples;
}

async function markdownIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}
