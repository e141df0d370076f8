import { invalidField, type ServiceError } from '../service-error.ts';
import type { Fault } from './schema.ts';

/** The first fault that a schema found, in the client's notation: the field, what was given, what is allowed. */
export function schemaError({ path, rule, isType }: Fault, body: unknown): ServiceError {
  const param = notation(path);
  const { value, exists } = valueAt(body, path);
  if (!exists) return invalidField(param, `is required: it ${rule}`, 'missing_required_parameter');
  const code = isType ? 'invalid_type' : 'invalid_value';
  return invalidField(param, `${rule}, but ${describe(value)} was given`, code);
}

/** `messages[1].role` */
function notation(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : (index > 0 ? '.' : '') + shortened(String(part)),
    )
    .join('');
}

/** Names that a client chose may be as long as the body. */
export const shortened = (text: string, length = 64): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

/** What a client gave, short enough for a message. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (typeof value === 'string') {
    if (value === '') return 'an empty string';
    return JSON.stringify(shortened(value, 40));
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return 'an object';
}

function valueAt(body: unknown, path: readonly PropertyKey[]): { value: unknown; exists: boolean } {
  let value = body;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) {
      return { value: undefined, exists: false };
    }
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return { value, exists: true };
}
