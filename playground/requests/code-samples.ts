import type { RequestLogEntry } from '../../src/index.ts';
import { aiSdkChat, aiSdkEmbed } from './samples/ai-sdk-sample.ts';
import { curlSample } from './samples/curl-sample.ts';
import { languageModelSample } from './samples/language-model-sample.ts';
import { langChainChat, langChainEmbed } from './samples/langchain-sample.ts';
import type { Body } from './samples/literal.ts';
import { openAiSample } from './samples/openai-sample.ts';

const SAMPLES = [
  { value: 'openai', label: 'OpenAI SDK' },
  { value: 'ai-sdk', label: 'AI SDK' },
  { value: 'langchain', label: 'LangChain' },
  { value: 'language-model', label: 'LanguageModel' },
  { value: 'curl', label: 'curl' },
] as const;
export type SampleKind = (typeof SAMPLES)[number]['value'];

const chats = (path: string): boolean => path.endsWith('/chat/completions');
const embeds = (path: string): boolean => path.endsWith('/embeddings');

/** Libraries that can send the request: only the OpenAI SDK supports completions and responses. */
export const samplesFor = (path: string): readonly (typeof SAMPLES)[number][] =>
  chats(path)
    ? SAMPLES
    : embeds(path)
      ? SAMPLES.filter(({ value }) => value !== 'language-model')
      : SAMPLES.filter(({ value }) => value === 'openai' || value === 'curl');

/** Code that repeats the request. */
export function codeSample(
  kind: SampleKind,
  { path, requestBody }: Pick<RequestLogEntry, 'path' | 'requestBody'>,
): string {
  const { text = '' } = requestBody ?? {};
  const body = parsed(text);
  if (!body) return '// The body was too long to be kept whole, or is not JSON.';
  switch (kind) {
    case 'openai':
      return openAiSample(body, path);
    case 'ai-sdk':
      return embeds(path) ? aiSdkEmbed(body) : aiSdkChat(body);
    case 'langchain':
      return embeds(path) ? langChainEmbed(body) : langChainChat(body);
    case 'language-model':
      return languageModelSample(body);
    case 'curl':
      return curlSample(text, path);
  }
}

function parsed(text: string): Body | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
