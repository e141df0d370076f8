import { z } from 'zod';
import { byteCount, commitHash, sha256Hex, weightPath } from './weight-path.ts';

/** Name of the file in the models folder that lists what is there: `localtext pull` writes it. */
export const MANIFEST = 'manifest.json';

export const manifestSchema = z.object({
  version: z.literal(1),
  /** By path below the models folder. */
  files: z.record(weightPath, z.object({ bytes: byteCount, sha256: sha256Hex })),
  /** Commits of the hub's repositories that files came from, by repository: later pulls stay with them. */
  commits: z.record(z.string(), commitHash).optional(),
});

export type Manifest = z.output<typeof manifestSchema>;
