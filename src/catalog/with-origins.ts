import type { WeightFile } from './catalog.ts';

/** These files, and what they are requantized from. */
export const withOrigins = (files: readonly WeightFile[]): WeightFile[] =>
  files.flatMap((file) => (file.requantizedFrom ? [file, file.requantizedFrom] : [file]));
