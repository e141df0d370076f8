import { unsupported } from '../service-error.ts';
import { Fault, type Infer, type Schema } from './schema.ts';
import { schemaError } from './schema-issues.ts';

/** What the body of a route may be. */
export interface BodyRules<Body extends Schema> {
  schema: Body;
  /** Fields that would change the reply and are not supported, and what to do instead. */
  refused?: Record<string, string>;
  /** Array elements and object members; `MAX_VALUES` when not given. */
  maxValues?: number;
  /** Runs before the schema. @throws ServiceError 400 */
  precheck?(body: Record<string, unknown>): void;
}

/** @throws ServiceError 400 that names the field. */
export function parseBody<Body extends Schema>(
  { schema, refused = {}, precheck }: BodyRules<Body>,
  body: Record<string, unknown>,
): Infer<Body> {
  precheck?.(body);
  const parsed = schema.parse(body);
  if (parsed instanceof Fault) throw schemaError(parsed, body);
  for (const [param, reason] of Object.entries(refused)) {
    if (Object.hasOwn(body, param) && !isEmpty(body[param])) {
      throw unsupported(param, `cannot be used here. ${reason}`);
    }
  }
  return parsed as Infer<Body>;
}

const isEmpty = (value: unknown): boolean =>
  value == null || value === false || value === '' || (Array.isArray(value) && value.length === 0);
