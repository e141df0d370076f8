import { whisperRules as rules, type WhisperVariant } from '#catalog';
import { unmetSharedMemory, type EnginePlugin } from '#engine-kit';

export const whisper: EnginePlugin<WhisperVariant> = {
  ...rules,
  capabilities: () => ['transcription'],
  helpers: {
    whisper: async () => (await import('./whisper-worker.ts')).whisperWorker,
    sound: async () => (await import('../sound/sound-worker.ts')).soundWorker,
  },
  unmet: unmetSharedMemory,
  load: async (variant, context) => (await import('./load-whisper.ts')).loadWhisper(variant, context),
};
