import { rules, type VoiceVariant } from './rules.ts';
import type { EnginePlugin } from '#engine-kit';

export const plugin: EnginePlugin<VoiceVariant> = {
  ...rules,
  capabilities: () => ['speech'],
  wasm: 'ort-wasm-simd-threaded.wasm',
  load: async (variant, context) => (await import('./load-voice.ts')).loadVoice(variant, context),
};
