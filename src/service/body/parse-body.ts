import type * as z from 'zod/mini';
import { schemaError } from './schema-issues.ts';

/** An array or object is left at its first fault: collecting every fault of a long one takes seconds. */
const FIRST_FAULT: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/** @throws ServiceError 400 that names the field. */
export function parseBody<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Record<string, unknown>,
): z.output<Schema> {
  const parsed = schema.safeParse(body, FIRST_FAULT);
  if (!parsed.success) throw schemaError(parsed.error, body);
  return parsed.data;
}
