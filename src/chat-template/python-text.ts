import { ALL_MARKS } from './client-text.ts';
import { keyOf, kindOf, type Value } from './template-values.ts';

/** Converts a value to text as Python's `str()` does. @throws Error for a function or generator */
export function pythonText(value: Value): string {
  if (value.type === 'UndefinedValue') return '';
  return typeof value.value === 'string' ? value.value : notation(value);
}

/** Converts a value to text as Python's `repr()` does. */
function notation(value: Value): string {
  const inner: unknown = value.value;
  if (typeof inner === 'string') return quoted(inner);
  if (typeof inner === 'boolean') return inner ? 'True' : 'False';
  if (value.type === 'NullValue') return 'None';
  if (value.type === 'ObjectValue') {
    const entries = [...(inner as Map<string, Value>)];
    return `{${entries.map(([key, item]) => `${notation(keyOf(key))}: ${notation(item)}`).join(', ')}}`;
  }
  if (Array.isArray(inner)) return list(value, (inner as Value[]).map(notation));
  if (value.type === 'UndefinedValue') return 'Undefined';
  if (/^(?:Float|Integer)/.test(value.type)) return value.toString();
  throw new Error('a function or namespace has no text');
}

function list(value: Value, items: readonly string[]): string {
  const kind = kindOf(value);
  if (kind === 'view' || kind === 'generator') throw new Error(`a ${kind} has no text without "| list"`);
  if (kind !== 'tuple') return `[${items.join(', ')}]`;
  return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`;
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const ESCAPED = new RegExp(String.raw`\\|(?![ ${ALL_MARKS}])[\p{C}\p{Z}]`, 'gu');

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll(ESCAPED, (char) => ESCAPES[char] ?? codeOf(char));
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

function codeOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const [letter, digits] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return `\\${letter}${code.toString(16).padStart(Number(digits), '0')}`;
}
