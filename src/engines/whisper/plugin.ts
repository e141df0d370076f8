import { rules, type WhisperVariant } from './rules.ts';
import { unmetSharedMemory, type EnginePlugin } from '#engine-kit';

export const plugin: EnginePlugin<WhisperVariant> = {
  ...rules,
  capabilities: () => ['transcription'],
  helpers: {
    whisper: async () => (await import('./whisper-worker.ts')).whisperWorker,
    sound: async () => (await import('../sound/sound-worker.ts')).soundWorker,
  },
  unmet: unmetSharedMemory,
  load: async (variant, context) => (await import('./load-whisper.ts')).loadWhisper(variant, context),
};
