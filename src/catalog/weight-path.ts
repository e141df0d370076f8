import { z } from '#base/full-zod';

/** Relative path that stays in its folder, such as `a/b.gguf`: no `..`, no `\`, no absolute path, no scheme. */
export const weightPath = z
  .string()
  .min(1)
  .max(500)
  .regex(
    /^[\w@+ .-]+(\/[\w@+ .-]+)*$/,
    'must be a relative path of letters, digits, spaces and . _ - + @, with / between parts',
  )
  .refine(
    (path) => !path.split('/').some((part) => /^\.{1,2}$/.test(part.trim())),
    'must not climb out of its folder by . or ..',
  );

/** Whether a browser fetches this address: it fetches none with a user name or a password. */
export function isHttpUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password } = new URL(url);
  return /^https?:$/.test(protocol) && username + password === '';
}

export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in 64 lower-case hex digits');

export const commitHash = z.string().regex(/^[0-9a-f]{40}$/, 'must be a commit in 40 lower-case hex digits');

export const byteCount = z.int('must be a whole number of bytes').positive('must be more than 0 bytes');

export const weightFile = z.object({ path: weightPath, bytes: byteCount, sha256: sha256Hex });

/** Name of the manifest of the models folder, which `localtext pull` writes. */
export const MANIFEST = 'manifest.json';

export const manifestSchema = z.object({
  version: z.literal(1),
  /** Files by path, relative to the models folder. */
  files: z.record(weightPath, z.object({ bytes: byteCount, sha256: sha256Hex })),
  /** Commits that files came from, by repository of the hub. Later pulls use the same commits. */
  commits: z.record(z.string(), commitHash).optional(),
});

export type Manifest = z.output<typeof manifestSchema>;
