import type { z } from 'zod';

import type { WeightFile } from '../../catalog/catalog.ts';
import { corruptFile } from '../../errors/engine-errors.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { type ByteCursor, FormatError, readHeader, startOfBlob } from '../gguf/byte-cursor.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { readSafetensors } from '../gguf/read-safetensors.ts';

/**
 * Reads a text that is not trusted.
 * @param expected how a value of another form is described: `is no description of a model`
 * @param refuse makes an error of a fault, a phrase that follows the name of the text
 */
export function parseJson<T>(
  text: string,
  schema: z.ZodType<T>,
  expected: string,
  refuse: (fault: string) => Error,
): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('is not JSON, or cut short');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw refuse(`${expected}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}

const CHECKS: [RegExp, (cursor: ByteCursor) => unknown][] = [
  [/\.gguf$/i, readGguf],
  [/\.safetensors$/i, readSafetensors],
];

/**
 * Checks the header of a file before an engine reads it: bytes with the catalog's hash may still be malformed, and
 * an engine's own error does not name the file.
 * @throws ServiceError `weights_corrupt` naming the file
 */
export async function checkFormat(file: WeightFile, blob: Blob): Promise<void> {
  const [, check] = CHECKS.find(([pattern]) => pattern.test(file.path)) ?? [];
  if (!check) return;
  try {
    await readHeader(startOfBlob(blob), check);
  } catch (error) {
    throw error instanceof FormatError ? corruptFile(file.path, error.message) : error;
  }
}

/** Finds the first `.json` file that is not JSON, after a load that failed without naming a file. */
export async function findBrokenJson(
  files: readonly { file: WeightFile; blob: Blob }[],
): Promise<ServiceError | null> {
  for (const { file, blob } of files) {
    if (!file.path.endsWith('.json')) continue;
    const text = await blob.text().catch(() => null);
    if (text === null) continue;
    try {
      JSON.parse(text);
    } catch {
      return corruptFile(file.path, 'is not JSON, or cut short');
    }
  }
  return null;
}
