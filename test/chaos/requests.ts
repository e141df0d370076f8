import type { Body } from '../browser/lifetime/site/run.ts';
import { dataUrl, PICTURES } from '../support/vision/pictures.ts';
import { VISION_MODEL } from '../support/vision/vision-site.ts';

const TEN = 'One, two, three, four, five, six, seven, eight, nine, ten';
const question = { role: 'user' as const, content: 'Count in words, separated by commas.' };
const reply = { role: 'assistant' as const, content: `${TEN}, ${TEN.toLowerCase()}` };
const messages = [question, reply, question, reply, question];

/** The reply repeats that of the turns before. */
const again = (extra: Partial<Body> = {}): Body => ({ messages, max_tokens: 12, ...extra });

const ask = (content: string, extra: Partial<Body> = {}): Body => ({
  messages: [{ role: 'user', content }],
  max_tokens: 12,
  ...extra,
});

/** The word that may stand there. */
const only = (word: string) => ({ type: 'string', enum: [word] });

/**
 * Requests by name. The model is sure of each token (by 2 in log probability and more, on each WASM): it says the same
 * whatever else is in its batch, which shifts log probabilities by 0.2.
 */
export const REQUESTS = {
  streamed: again(),
  'streamed, longer': again({ max_tokens: 24 }),
  'two choices': again({ n: 2, max_tokens: 8 }),
  'with a stop sequence': again({ stop: ['seven'], max_tokens: 24 }),
  'with log probabilities': again({ logprobs: true, top_logprobs: 1 }),
  'in one piece': again({ stream: false }),
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

/** Requests to other endpoints, and one for a tool's call. */
const OTHERS = {
  'a completion': {
    path: '/completions',
    temperature: 0,
    prompt: `${TEN}.\n${TEN}.\nOne, two, three,`,
    max_tokens: 8,
  },
  'a response': { path: '/responses', temperature: 0, input: messages, max_output_tokens: 16 },
  'a function call': ask('Which animal says meow?', {
    tools: [
      {
        type: 'function',
        function: {
          name: 'animal',
          strict: true,
          parameters: {
            type: 'object',
            properties: { name: only('cat') },
            required: ['name'],
            additionalProperties: false,
          },
        },
      },
    ],
    tool_choice: 'required',
    max_tokens: 40,
  }),
  'a decision': {
    path: '/decisions',
    model: 'jade-mole-4',
    input: 'Fry the onions in butter until golden, then add the mushrooms.',
    questions: [
      {
        type: 'choice',
        name: 'topic',
        instructions: 'What is the topic of this text?',
        choices: [{ value: 'sports' }, { value: 'food' }, { value: 'politics' }],
      },
    ],
  },
} satisfies Record<string, Body>;

export type RequestKind = keyof typeof REQUESTS | keyof typeof OTHERS | 'a transcription';

export const chaosRequests = (clip: string): Record<RequestKind, Body> => ({
  ...REQUESTS,
  ...OTHERS,
  'a transcription': { clip, model: 'coral-wren-4' },
});
