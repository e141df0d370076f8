import { rules, type VoiceVariant } from './rules.ts';
import { unmetSharedMemory, type EnginePlugin } from '#engine-kit';

export const plugin: EnginePlugin<VoiceVariant> = {
  ...rules,
  capabilities: () => ['speech'],
  unmet: unmetSharedMemory,
  wasm: 'ort-wasm-simd-threaded.wasm',
  load: async (variant, context) => (await import('./load-voice.ts')).loadVoice(variant, context),
};
