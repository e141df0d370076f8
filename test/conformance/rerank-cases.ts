import { expect } from 'vitest';
import type { ConformanceCase, Fact } from './conformance-case.ts';
import { badRequest, check, modelNotFound, status } from './facts.ts';

const documents = ['An owl hunts at night.', 'A train leaves at noon.', 'Owls see well in the dark.'];
const of = (name: string, json: Record<string, unknown>, ...facts: Fact[]): ConformanceCase => ({
  name: `rerank: ${name}`,
  request: { path: '/v1/rerank', json: { model: 'jade-mole-4', query: 'owl', documents, ...json } },
  facts,
});
const bad = (name: string, json: Record<string, unknown>, param: string) => of(name, json, badRequest(param));

interface Result {
  index: number;
  relevance_score: number;
  document?: { text: string };
}
const results = (json: Record<string, unknown>) => json['results'] as Result[];

export const rerankCases: ConformanceCase[] = [
  of(
    'texts, sorted by score',
    {},
    status(200),
    check((json) => {
      const scores = results(json).map(({ relevance_score: score }) => score);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
      expect(
        results(json)
          .map(({ index }) => index)
          .toSorted(),
      ).toEqual([0, 1, 2]);
      expect(results(json)[0]?.document).toBeUndefined();
    }),
  ),
  of(
    'objects, the best one, with its text',
    { documents: documents.map((text) => ({ text })), top_n: 1, return_documents: true },
    status(200),
    check((json) => {
      expect(results(json)).toHaveLength(1);
      expect(documents).toContain(results(json)[0]?.document?.text);
    }),
  ),
  of(
    'a document longer than the context is cut',
    { documents: ['An owl. '.repeat(3000), 'A train.'] },
    status(200),
    check((json) => expect(results(json)).toHaveLength(2)),
  ),
  {
    name: "rerank: Cohere's second version of the path",
    request: {
      path: '/v1/v2/rerank',
      json: {
        model: 'jade-mole-4',
        query: 'owl',
        documents,
        top_n: 1,
        max_tokens_per_doc: 4096,
        priority: 0,
      },
    },
    facts: [status(200), check((json) => expect(results(json)).toHaveLength(1))],
  },
  of('a model that there is not', { model: 'nonesuch' }, modelNotFound),
  of('a chat model', { model: 'amber-phoenix-4' }, modelNotFound),
  bad('no query', { query: null }, 'query'),
  bad('an empty query', { query: '' }, 'query'),
  bad('no documents', { documents: [] }, 'documents'),
  bad('an empty document', { documents: ['a', ''] }, 'documents[1]'),
  bad('too many documents', { documents: Array.from({ length: 1001 }, () => 'a') }, 'documents'),
  bad('a top_n of 0', { top_n: 0 }, 'top_n'),
  bad('fields to rank by', { rank_fields: ['title'] }, 'rank_fields'),
];
