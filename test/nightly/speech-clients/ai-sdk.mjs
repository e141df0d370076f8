// `ai-sdk.mjs <base URL> <key> <clip>`, in a folder with the packages: what the AI SDK is answered, as JSON.
import { readFile } from 'node:fs/promises';

import { createOpenAI } from '@ai-sdk/openai';
import { experimental_transcribe as transcribe } from 'ai';

const [baseURL, apiKey, clip] = process.argv.slice(2);
const model = createOpenAI({ baseURL, apiKey }).transcription('coral-wren-4');
const audio = await readFile(clip);
const whole = await transcribe({ model, audio, maxRetries: 0 });
const words = await transcribe({
  model,
  audio,
  maxRetries: 0,
  providerOptions: { openai: { timestampGranularities: ['word'] } },
});
const refused = await transcribe({
  model,
  audio,
  maxRetries: 0,
  providerOptions: { openai: { language: 'de' } },
}).catch(({ statusCode, message }) => ({ statusCode, message }));
console.log(
  JSON.stringify({
    text: whole.text,
    language: words.language,
    seconds: words.durationInSeconds,
    words: words.segments.map(({ text }) => text),
    refused,
  }),
);
