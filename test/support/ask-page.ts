import type OpenAI from 'openai';
import type { Page } from 'playwright';

import { send } from './send.ts';

/** JSON of a good answer to a page's request. @throws Error that has the text of another answer */
export async function post<Body>(page: Page, key: string, path: string, json: object): Promise<Body> {
  const { status, text, body } = await send<Body>(page, key, `/v1/${path}`, json);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body;
}

/** A reply at temperature 0. */
export const ask = (page: Page, key: string, model: string, content: string, more: object = {}) =>
  post<OpenAI.ChatCompletion>(page, key, 'chat/completions', {
    model,
    messages: [{ role: 'user', content }],
    temperature: 0,
    ...more,
  });

export async function embed(page: Page, key: string, model: string, input: string | string[]) {
  const { data } = await post<OpenAI.CreateEmbeddingResponse>(page, key, 'embeddings', { model, input });
  return data.map(({ embedding }) => embedding);
}

/** Similarity of two vectors of length 1. */
export const dot = (a: number[] = [], b: number[] = []): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? Number.NaN), 0);
