import { expect, test } from 'vitest';

import { serverError } from '../../../../src/base/errors/service-error.ts';
import { voices } from '../../../../src/catalog/speech-models.ts';
import type { EngineContext } from '../../../../src/engine-kit/engine.ts';
import { loadVoice } from '../../../../src/engines/voice/load-voice.ts';
import type { VoiceVariant } from '../../../../src/engines/voice/rules.ts';

test('a voice that cannot be fetched fails the load, not the first sentence', async () => {
  const variant = voices.models?.[0]?.variants[0] as VoiceVariant;
  const missing = serverError('weights_missing', 'There is no heart.onnx.');
  const file = async (path: string): Promise<Blob> => {
    if (path.endsWith('heart.onnx')) throw missing;
    return new Blob(['{}']);
  };
  const context = { file, signal: new AbortController().signal } as Partial<EngineContext> as EngineContext;
  await expect(loadVoice(variant, context)).rejects.toBe(missing);
});
