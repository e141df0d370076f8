import type { WeightFile } from './catalog.ts';

/** What is downloaded for these files. */
export const downloaded = (files: readonly WeightFile[]): WeightFile[] =>
  files.map((file) => file.requantizedFrom ?? file);

/** These files, and what they are requantized from. */
export const withOrigins = (files: readonly WeightFile[]): WeightFile[] =>
  files.flatMap((file) => (file.requantizedFrom ? [file, file.requantizedFrom] : [file]));
