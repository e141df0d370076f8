import type * as z from 'zod/mini';
import {
  describe,
  FIRST_FAULT,
  invalidField,
  requestError,
  shortened,
  type ServiceError,
  valueAt,
} from '#base';

type Issue = z.core.$ZodIssue;

/** Options of a check: schemas without their own message get the rule that they enforce. */
export const WITH_RULES = { ...FIRST_FAULT, error: ruleOf };

/** A schema's first issue, in the client's notation: the field, the value sent, the values allowed. */
export function schemaError(error: z.core.$ZodError, body: unknown): ServiceError {
  const issue = error.issues[0];
  if (!issue) return requestError(400, 'The request body does not match this endpoint.');
  const { path, message: rule, isKey } = explain(issue, []);
  const param = notation(path);
  const value = isKey ? path.at(-1) : valueAt(body, path);
  if (value === undefined)
    return invalidField(param, `is required: it ${rule}`, 'missing_required_parameter');
  const code = issue.code === 'invalid_type' ? issue.code : 'invalid_value';
  return invalidField(param, `${rule}, but ${describe(value)} was given`, code);
}

/** `messages[1].role` */
const notation = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : (index > 0 ? '.' : '') + shortened(String(part)),
    )
    .join('');

/** Whether a value is of another type. A fraction is a number, but not an integer. */
const isOtherType = (issue: Issue): boolean => issue.code === 'invalid_type' && issue.expected !== 'int';

/** Whether the value is of the branch's type. */
const isInside = ({ code, path }: Issue): boolean => path.length > 0 || code.startsWith('too_');

/** Longer paths first, then later elements; at one place, values of the right type. */
const byDepth = (one: Issue, other: Issue): number =>
  other.path.length - one.path.length ||
  (one.path.at(-1) === other.path.at(-1)
    ? Number(isOtherType(one)) - Number(isOtherType(other))
    : Number(other.path.at(-1)) - Number(one.path.at(-1)) || 0);

/** `isKey`: the last key of the path is at fault, not its value. */
function explain(issue: Issue, parents: PropertyKey[]): Pick<Issue, 'path' | 'message'> & { isKey: boolean } {
  const path = [...parents, ...issue.path];
  if (issue.code === 'invalid_union') {
    // The client most likely meant the branch that failed deepest: at the last element, and not by its type.
    const first = issue.errors.flatMap((branch) => branch.slice(0, 1));
    const [deepest] = first.filter(isInside).toSorted(byDepth);
    if (deepest) return explain(deepest, path);
  }
  return { path, message: issue.message, isKey: issue.code === 'invalid_key' };
}

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

function ruleOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return oneOf(issue.values);
    case 'invalid_union':
      return 'options' in issue
        ? oneOf([issue.options].flat().filter((option) => option !== undefined))
        : undefined;
    case 'too_small':
      return bound('at least', issue.minimum, issue.origin);
    case 'too_big':
      return bound('at most', issue.maximum, issue.origin);
    default:
      return undefined;
  }
}

const oneOf = (values: readonly unknown[]): string =>
  `must be ${values.length > 1 ? 'one of ' : ''}${values.map((value) => JSON.stringify(value)).join(', ')}`;

const NOUNS: Record<string, string> = { array: 'element', object: 'member', string: 'character' };

function bound(side: 'at least' | 'at most', limit: number | bigint, origin: string): string {
  const noun = NOUNS[origin];
  if (noun === undefined) return `must be ${side} ${limit}`;
  return `must have ${side} ${limit} ${noun}${Number(limit) === 1 ? '' : 's'}`;
}
