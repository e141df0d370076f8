import type { Body } from '../browser/lifetime/site/run.ts';
import { dataUrl, PICTURES } from '../support/vision/pictures.ts';
import { VISION_MODEL } from '../support/vision/vision-site.ts';

const ask = (content: string, extra: Partial<Body> = {}): Body => ({
  messages: [{ role: 'user', content }],
  max_tokens: 12,
  ...extra,
});

/** The word that may stand there. */
const only = (word: string) => ({ type: 'string', enum: [word] });

/**
 * By name. The model is sure of each token (by 0.7 in log probability and more): it says the same whatever else is in its
 * batch, which shifts log probabilities by 0.2.
 */
export const REQUESTS = {
  streamed: ask('Count from one to ten in words.'),
  'streamed, longer': ask('Write the numbers from 1 to 20, separated by commas.', { max_tokens: 24 }),
  'two choices': ask('Count from one to ten in words.', { n: 2, max_tokens: 8 }),
  'with a stop sequence': ask('Count from one to ten in words.', { stop: ['3.'], max_tokens: 24 }),
  'with log probabilities': ask('Count from one to ten in words.', { logprobs: true, top_logprobs: 1 }),
  'in one piece': ask('Repeat after me: one two three four five six seven eight nine ten.', {
    stream: false,
  }),
  'by a schema': ask('Write JSON about a cat.', {
    max_tokens: 40,
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'animal',
        strict: true,
        schema: {
          type: 'object',
          properties: { animal: only('cat'), family: only('Felidae'), legs: only('four') },
          required: ['animal', 'family', 'legs'],
          additionalProperties: false,
        },
      },
    },
  }),
  // Of random weights, whose likeliest tokens are as far ahead.
  'about pictures': {
    model: VISION_MODEL,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          ...PICTURES.slice(3).map((file) => ({
            type: 'image_url' as const,
            image_url: { url: dataUrl(file) },
          })),
        ],
      },
    ],
    temperature: 0,
    max_tokens: 12,
  },
  embeddings: { input: ['The weather is lovely today.', 'He drove to the stadium.'] },
} satisfies Record<string, Body>;

export type RequestKind = keyof typeof REQUESTS | 'a transcription';

export const chaosRequests = (clip: string): Record<RequestKind, Body> => ({
  ...REQUESTS,
  'a transcription': { clip, model: 'coral-wren-4' },
});
