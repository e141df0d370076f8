import { rules, type WhisperVariant } from './rules.ts';
import { unmetSharedMemory, type EnginePlugin } from '#engine-kit';

export const plugin: EnginePlugin<WhisperVariant> = {
  ...rules,
  capabilities: () => ['transcription'],
  unmet: unmetSharedMemory,
  load: async (variant, context) => (await import('./load-whisper.ts')).loadWhisper(variant, context),
};
