import OpenAI from 'openai';

import type { FakeService } from './fake-service.ts';

/** The OpenAI client on a service in this process. */
export const clientOf = ({ service, key }: Pick<FakeService, 'service' | 'key'>, apiKey = key): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: 'https://site.example/v1',
    maxRetries: 0,
    fetch: (url, init) => service(new Request(url, init)),
  });
