import { z } from 'zod';
import { byteCount, sha256Hex, weightPath } from './weight-path.ts';

/** Name of the file in the models folder that lists what is there: `localtext pull` writes it. */
export const MANIFEST = 'manifest.json';

export const manifestSchema = z.object({
  version: z.literal(1),
  /** By path below the models folder. */
  files: z.record(weightPath, z.object({ bytes: byteCount, sha256: sha256Hex })),
});

export type Manifest = z.output<typeof manifestSchema>;
