import { whisperRules as rules, type WhisperVariant } from '#catalog';
import type { EnginePlugin } from '#engine-kit';

export const whisper: EnginePlugin<WhisperVariant> = {
  ...rules,
  capabilities: () => ['transcription'],
  helpers: {
    whisper: async () => (await import('./whisper-worker.ts')).whisperWorker,
    sound: async () => (await import('../sound/sound-worker.ts')).soundWorker,
  },
  load: async (variant, context) => (await import('./load-whisper.ts')).loadWhisper(variant, context),
};
