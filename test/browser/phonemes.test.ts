import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';

import { beforeAll, expect, test } from 'vitest';

import { createPhonemizer, type PhonemeTables, type Phonemizer } from '../../src/phonemes/phonemizer.ts';
import { toSpeakable } from '../../src/phonemes/speakable.ts';
import { STEPS_OF_A_SECOND, stepsOf } from '../support/steps-of.ts';

/** English text as phonemes, by the tables of the voice's package. */

const FOLDER = 'public/models/hibari';
const SUPPORT = new URL('../support/speech/', import.meta.url);

interface Reference {
  /** A sentence, and what hibari-tts 0.2.1 reads. */
  sentences: [sentence: string, phonemes: string[]][];
  /** Words that its lexicon lacks, as its network reads them. */
  unknownWords: Record<string, string>;
}

let phonemizer: Phonemizer;
let reference: Reference;

const packed = async <T>(name: string): Promise<T> =>
  JSON.parse(gunzipSync(await readFile(`${FOLDER}/${name}`)).toString()) as T;
const plain = async <T>(path: string | URL): Promise<T> => JSON.parse(await readFile(path, 'utf8')) as T;

beforeAll(async () => {
  reference = await plain(new URL('phonemes.json', SUPPORT));
  const tables = {
    dialect: { gold: await packed('lexicon-gold.gzip'), silver: await packed('lexicon-silver.gzip') },
    tagger: await packed('tagger.gzip'),
    specialCases: await plain(`${FOLDER}/special-cases.json`),
    writtenForms: await plain(`${FOLDER}/written-forms.json`),
  } as PhonemeTables;
  phonemizer = createPhonemizer(tables, async (word) => reference.unknownWords[word] ?? word);
});

async function read(text: string): Promise<string[]> {
  const pieces: string[] = [];
  for (const sentence of phonemizer.sentences(text)) pieces.push(...(await phonemizer.phonemes(sentence)));
  return pieces;
}

test('each sentence has the phonemes of the original package', async () => {
  expect(reference.sentences.length).toBeGreaterThanOrEqual(500);
  const all = await Promise.all(reference.sentences.map(async ([text]) => [text, await read(text)]));
  expect(all).toEqual(reference.sentences);
});

test('text as people write it sounds like its words', async () => {
  const rows = (await readFile(new URL('spoken-forms.txt', SUPPORT), 'utf8')).trim().split('\n');
  expect(rows.length).toBeGreaterThan(300);
  // Stress and function words depend on capitals and on punctuation: compare what is heard.
  const plainly = (pieces: string[]): string => pieces.join('').replaceAll(/[ˈˌ.,;:!?“”"—…()\s]/g, '');
  const unescaped = (text: string): string =>
    text
      .replaceAll(String.raw`\n`, '\n')
      .replaceAll(/\\u([\da-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  const differing: string[] = [];
  for (const row of rows) {
    const end = row.lastIndexOf(' | ');
    const [written = '', spoken = ''] = [row.slice(0, end), row.slice(end + 3)].map(unescaped);
    const [a, b] = [plainly(await read(toSpeakable(written))), plainly(await read(spoken))];
    if (a !== b) differing.push(`${row}\n  ${a}\n  ${b}`);
  }
  expect(differing).toEqual([]);
  expect(await read('a')).toEqual(['ɐ']);
});

test('a long text without spaces takes no more steps than a processor runs in a second', async () => {
  for (const text of [
    'a'.repeat(20_000),
    '!'.repeat(20_000),
    "a'".repeat(10_000),
    '1,'.repeat(10_000),
    '((('.repeat(6000),
    ' '.repeat(20_000),
    `|${' '.repeat(20_000)}x`,
    '1:'.repeat(10_000),
    '<a '.repeat(6000),
    '$1'.repeat(10_000),
    '12.'.repeat(6000),
    'a/'.repeat(10_000),
    '0'.repeat(20_000),
    '> '.repeat(10_000),
    '# #'.repeat(6000),
  ]) {
    const steps = await stepsOf(() => read(toSpeakable(text)));
    expect(steps, text.slice(0, 9)).toBeLessThan(STEPS_OF_A_SECOND);
  }
});
