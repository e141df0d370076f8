import { expect, test } from 'vitest';

import { transformersEngine } from '../../../src/engines/transformers/transformers-engine.ts';
import { rank } from '../../../src/models/rank.ts';
import { lastOf } from '../../support/last-of.ts';
import { rerankJob } from '../../support/rerank-job.ts';
import { never } from '../../support/never.ts';

const CONTEXT = 6;

/** A token a word, between two others. A vector tells whether a text has the word `owl`. */
function make() {
  const sequences: number[][] = [];
  const embedder = {
    tokenizer: {
      async tokenize(texts: readonly string[], cutTo?: number) {
        return texts.map((text) => {
          const own = text.split(' ').map((word) => (word === 'owl' ? 1 : 2));
          const ids = [0, ...own.slice(0, cutTo === undefined ? undefined : Math.min(cutTo, CONTEXT - 2)), 0];
          return ids.length > CONTEXT ? ids.length : ids;
        });
      },
      wrap: () => null,
    },
    async run(batch: readonly (readonly number[])[]) {
      sequences.push(...batch.map((ids) => [...ids]));
      return batch.map((ids) => Float32Array.of(Number(ids.includes(1)), Number(!ids.includes(1))));
    },
    dispose() {},
  };
  const traits = { contextLength: CONTEXT, dimensions: 2, prefixes: { query: '', document: 'the ' } };
  return { sequences, engine: transformersEngine(embedder, traits, 'fake') };
}

test('an embedding model ranks by similarity; documents are cut, each by itself', async () => {
  const { engine, sequences } = make();
  const documents = ['a a a a a a a a owl', 'owl', 'a a owl'];
  const { scores } = await lastOf(rank(engine, rerankJob('owl', documents), never, () => {}));
  expect(scores).toEqual([0, 1, 1]);
  expect(sequences.map(({ length }) => length).toSorted()).toEqual([3, 4, 6, 6]);
});

test('`max_tokens_per_doc` leaves shorter documents and the query whole', async () => {
  const { engine, sequences } = make();
  await lastOf(rank(engine, rerankJob('a b owl', ['a a a a', 'owl'], { maxTokens: 2 }), never, () => {}));
  expect(sequences.map(({ length }) => length).toSorted()).toEqual([4, 4, 5]);
});

test('a query longer than the context is refused by name', async () => {
  const { engine } = make();
  const refused = lastOf(rank(engine, rerankJob('a '.repeat(20), ['owl']), never, () => {}));
  await expect(refused).rejects.toMatchObject({ wire: { param: 'query', code: 'context_length_exceeded' } });
});
