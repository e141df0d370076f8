import type { z } from 'zod';

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
