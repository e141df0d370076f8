import type { Body } from '../browser/lifetime/site/run.ts';

const ask = (content: string, extra: Partial<Body> = {}): Body => ({
  messages: [{ role: 'user', content }],
  max_tokens: 24,
  ...extra,
});

/** By name: what is asked, all of it with one right answer. */
export const REQUESTS: Record<string, Body> = {
  streamed: ask('Count from one to ten in words.'),
  'streamed, longer': ask('What is the capital of France?', { max_tokens: 40 }),
  'two choices': ask('Name the days of the week.', { n: 2 }),
  'with a stop sequence': ask('Count from one to ten in words.', { stop: ['5.'], max_tokens: 40 }),
  'in one piece': ask('What is the capital of France?', { stream: false }),
  'by a schema': ask('Describe a cat.', {
    max_tokens: 30,
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'animal',
        strict: true,
        schema: {
          type: 'object',
          properties: { name: { type: 'string', enum: ['cat', 'dog'] }, legs: { type: 'integer' } },
          required: ['name', 'legs'],
          additionalProperties: false,
        },
      },
    },
  }),
  embeddings: { input: ['The weather is lovely today.', 'He drove to the stadium.'] },
};
