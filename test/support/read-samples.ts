import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Sample {
  /** `README.md:39`. */
  place: string;
  language: string;
  code: string;
}

/** Every program in the README, the documentation, the examples' own READMEs and the comments of exports. */
export async function readSamples(): Promise<Sample[]> {
  const found = await Promise.all([
    filesIn('docs', /\.md$/),
    filesIn('examples', /\.md$/),
    filesIn('src', /\.tsx?$/),
  ]);
  const samples: Sample[] = [];
  for (const path of ['README.md', ...found.flat().toSorted()]) {
    const text = path.endsWith('.md')
      ? await readFile(path, 'utf8')
      : examplesOf(await readFile(path, 'utf8'));
    for (const match of text.matchAll(/^( *)```(jsx?|tsx?)\n([^]*?)^ *```/gm)) {
      const [, indent = '', language = '', body = ''] = match;
      const code = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
      const line = text.slice(0, match.index).split('\n').length;
      samples.push({ place: `${path}:${line}`, language, code });
    }
  }
  return samples;
}

/** The `@example` sections of comments, as Markdown. */
function examplesOf(source: string): string {
  const comments = source.replaceAll(/^ *\*(?!\/) ?/gm, '');
  const examples = [...comments.matchAll(/^@example\n([^]*?)(?=^@|^ *\*\/)/gm)].map(([, text = '']) => text);
  return examples.map((text) => (text.startsWith('```') ? text : `\`\`\`ts\n${text}\`\`\`\n`)).join('\n');
}

async function filesIn(folder: string, wanted: RegExp): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names
    .filter((name) => wanted.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}
