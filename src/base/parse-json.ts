import type { z } from 'zod';

/**
 * Parses untrusted JSON and validates it.
 * @param expected describes a value that the schema rejects: `is not a model description`
 * @param refuse makes the error from a fault, a phrase that follows the file's name
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
