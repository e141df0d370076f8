import type { ChatCompletionRequestStreaming, ChatOptions } from '@mlc-ai/web-llm';

import type { Catalog } from '../../../src/catalog/catalog.ts';
import { start } from '../../../src/index.ts';
import {
  clientOf,
  fingerprintOf,
  generateBy,
  type Generation,
  story,
  timed,
  tokensPerSecond,
} from './engines.ts';

/** Speed of one reply after its first word, with the prompt in the cache. */
export interface Speed {
  perSecond: number;
  firstTokenMs: number;
}

async function speed(
  maxTokens: number,
  generate: (maxTokens: number) => Promise<Generation>,
): Promise<Speed> {
  await generate(2);
  const reply = await generate(maxTokens);
  return { perSecond: tokensPerSecond(reply), firstTokenMs: reply.firstTokenMs };
}

/** The one model of this catalog through the SDK and /v1; with what it is loaded as. */
export async function webLlmOurs(
  catalog: Catalog,
  maxTokens: number,
): Promise<Speed & { fingerprint: string }> {
  const id = catalog.models[0]?.id ?? '';
  const localtext = await start({ catalog });
  try {
    await localtext.ready(id);
    const fingerprint = await fingerprintOf(localtext, id);
    const client = await clientOf(localtext);
    return { ...(await speed(maxTokens, (count) => generateBy(client, id, story, count))), fingerprint };
  } finally {
    localtext.stop();
  }
}

export interface RawModel {
  /** Contains `/resolve/`, because web-llm would add it otherwise. */
  model: string;
  library: string;
  /** Null: a sliding window, as the model says. */
  contextLength: number | null;
}

/** web-llm as a page without localtext would run it. */
export async function webLlmRaw(
  { model, library, contextLength }: RawModel,
  maxTokens: number,
): Promise<Speed> {
  const { MLCEngine } = await import('@mlc-ai/web-llm');
  const appConfig = { model_list: [{ model_id: 'raw', model, model_lib: library }] };
  const engine = new MLCEngine({ appConfig, logLevel: 'SILENT' });
  const options: ChatOptions = contextLength === null ? {} : { context_window_size: contextLength };
  try {
    await engine.reload('raw', options);
    return await speed(maxTokens, (count) =>
      timed(async (onDelta) => {
        let tokens = 0;
        for await (const chunk of await engine.chat.completions.create(request(count))) {
          onDelta(chunk.choices[0]?.delta.content ?? '');
          tokens = chunk.usage?.completion_tokens ?? tokens;
        }
        return tokens;
      }),
    );
  } finally {
    await engine.unload();
  }
}

/** Sets every field, as /v1 does: omitted fields would come from the model's own configuration. */
const request = (maxTokens: number): ChatCompletionRequestStreaming => ({
  messages: [...story],
  max_tokens: maxTokens,
  temperature: 0,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  repetition_penalty: 1,
  stream: true,
  stream_options: { include_usage: true },
});
