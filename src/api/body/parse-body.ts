import type * as z from 'zod/mini';
import { unsupported } from '../service-error.ts';
import { schemaError } from './schema-issues.ts';

/** What the body of a route may be. */
export interface BodyRules<Schema extends z.ZodMiniType> {
  schema: Schema;
  /** Fields that would change the reply and are not supported, and what to do instead. */
  refused?: Record<string, string>;
  /** Array elements and object members; `MAX_VALUES` when not given. */
  maxValues?: number;
  /** Runs before the schema. @throws ServiceError 400 */
  precheck?(body: Record<string, unknown>): void;
}

/** The check of an array or object stops at its first fault: to collect every fault of a long one takes seconds. */
const FIRST_FAULT: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/** @throws ServiceError 400 that names the field. */
export function parseBody<Schema extends z.ZodMiniType>(
  { schema, refused = {}, precheck }: BodyRules<Schema>,
  body: Record<string, unknown>,
): z.output<Schema> {
  precheck?.(body);
  const parsed = schema.safeParse(body, FIRST_FAULT);
  if (!parsed.success) throw schemaError(parsed.error, body);
  for (const [param, reason] of Object.entries(refused)) {
    if (Object.hasOwn(body, param) && !isEmpty(body[param])) {
      throw unsupported(param, `cannot be used here. ${reason}`);
    }
  }
  return parsed.data;
}

const isEmpty = (value: unknown): boolean =>
  value == null || value === false || value === '' || (Array.isArray(value) && value.length === 0);
