import { z } from '../../../src/base/full-zod.ts';
import type { VariantBase } from '../../../src/catalog/catalog.ts';
import { proportional } from '../../../src/catalog/engine-rules.ts';
import type { Engine, EnginePlugin } from '../../../src/engine-kit/engine.ts';

/** Answers with the text of its one weight file, in capitals if the variant says so. */
interface ToyVariant extends VariantBase {
  engine: 'toy';
  shouts?: boolean;
}

/** An engine in one place: its catalog entries, its memory, what it needs, and its load. */
export const toy: EnginePlugin<ToyVariant> = {
  engine: 'toy',
  fields: { shouts: z.boolean().optional() },
  kinds: () => ['chat'],
  memory: proportional(1000, 2),
  capabilities: () => ['chat'],
  unmet: async ({ shouts }) => (shouts ? 'needs a quiet room' : undefined),
  async load({ name, files: [file] }, { file: read, signal }) {
    const blob = await read(file?.path ?? '');
    signal.throwIfAborted();
    return toyEngine(name, await blob.text());
  },
};

const toyEngine = (fingerprint: string, text: string): Engine<'chat'> => ({
  kind: 'chat',
  fingerprint,
  slots: 1,
  traits: {},
  async *run() {
    yield { type: 'accepted', accepted: { promptTokens: 1, fingerprint } };
    yield { type: 'delta', delta: { text, tokens: 1 } };
    const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };
    yield { type: 'done', finishReason: 'stop', usage, timings: { prefillMs: 0, decodeMs: 0 } };
  },
  unload: async () => undefined,
});
