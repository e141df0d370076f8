import { voiceRules as rules, type VoiceVariant } from '#catalog';
import type { EnginePlugin } from '#engine-kit';

export const voice: EnginePlugin<VoiceVariant> = {
  ...rules,
  capabilities: () => ['speech'],
  wasm: 'ort-wasm-simd-threaded.wasm',
  helpers: { voice: async () => (await import('./voice-worker.ts')).voiceWorker },
  load: async (variant, context) => (await import('./load-voice.ts')).loadVoice(variant, context),
};
