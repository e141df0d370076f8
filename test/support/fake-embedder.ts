import type { Engine } from '../../src/engine-kit/engine.ts';

/** An embedding model that notes its texts in `given`. */
export const fakeEmbedder = (
  given: string[][],
  vectorOf: (text: string) => Float32Array<ArrayBuffer>,
  tokensPerText = 1,
): Engine<'embedding'> => ({
  kind: 'embedding',
  fingerprint: 'f',
  slots: 1,
  traits: {},
  async *run({ input }) {
    const texts = 'texts' in input ? input.texts : [];
    given.push(texts);
    yield {
      type: 'done',
      vectors: texts.map(vectorOf),
      promptTokens: texts.length * tokensPerText,
      fingerprint: 'f',
    };
  },
  unload: () => Promise.resolve(),
});
