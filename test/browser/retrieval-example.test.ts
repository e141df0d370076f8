import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { expect, inject, test } from 'vitest';

import { openPage } from '../support/open-page.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { dot, embed, post } from '../support/ask-page.ts';

/** The retrieval example's questions, each with the file that answers it: how often that file is among the first three. */

const EXAMPLE = 'examples/langchain-rag';
const CANDIDATES = 8;
const FIRST = 3;

const wordsOf = (text: string): string[] => text.toLowerCase().match(/\p{L}{3,}|\d+/gu) ?? [];

/** Positions of the documents by BM25, the best first. */
function byWords(documents: readonly string[], query: string): number[] {
  const bags = documents.map(wordsOf);
  const mean = bags.reduce((sum, { length }) => sum + length, 0) / bags.length;
  const score = (bag: readonly string[]): number =>
    [...new Set(wordsOf(query))].reduce((sum, word) => {
      const holders = bags.filter((each) => each.includes(word)).length;
      const rarity = Math.log(1 + (bags.length - holders + 0.5) / (holders + 0.5));
      const count = bag.filter((each) => each === word).length;
      return sum + (rarity * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * bag.length) / mean));
    }, 0);
  return documents.map((_, index) => index).toSorted((a, b) => score(bags[b] ?? []) - score(bags[a] ?? []));
}

test("the figures in the retrieval example's README", async () => {
  const folder = join(EXAMPLE, 'documents');
  const names = (await readdir(folder)).toSorted();
  const documents = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const questions = JSON.parse(await readFile(join(EXAMPLE, 'questions.json'), 'utf8')) as [string, string][];
  const words = questions.map(([question]) => byWords(documents, question));
  const context = await launchWithWeights();
  const { page, key } = await openPage(context, inject('siteUrl'));
  const vectorsOf = (input: string[]) => embed(page, key, 'jade-mole-4', input);
  const asked = questions.map(([question]) => question);
  const rank = async (query: string, among: number[]): Promise<number[]> => {
    const json = { model: 'jade-mole-4', query, documents: among.map((at) => documents[at]) };
    const { results } = await post<{ results: { index: number }[] }>(page, key, 'rerank', json);
    return results.map(({ index }) => among[index] ?? -1);
  };
  const [own, theirs] = [await vectorsOf(documents), await vectorsOf(asked)];
  const all = documents.map((_, at) => at);
  const vectors = theirs.map((query) => all.toSorted((a, b) => dot(query, own[b]) - dot(query, own[a])));
  const reranked = await Promise.all(asked.map((query) => rank(query, all)));
  const found = await Promise.all(
    asked.map((query, at) => rank(query, words[at]?.slice(0, CANDIDATES) ?? [])),
  );
  await context.close();
  const right = (orders: readonly number[][], first: number): number =>
    questions.filter(([, file], at) =>
      (orders[at] ?? []).slice(0, first).some((index) => basename(names[index] ?? '', '.md') === file),
    ).length;
  const rows = { words, 'words, reranked': found, vectors, 'vectors, reranked': reranked };
  const readme = await readFile(join(EXAMPLE, 'README.md'), 'utf8');
  for (const [name, orders] of Object.entries(rows))
    expect
      .soft(readme)
      .toMatch(new RegExp(`\\| ${name} +\\| ${right(orders, 1)} +\\| ${right(orders, FIRST)} +\\|`));
});
