export type Body = Record<string, unknown>;

/** Formats a value as code: keys that are names are unquoted. */
export const literal = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:');

/** Formats further members of an object literal, one per line. */
export const members = (options: Body): string => literal(defined(options)).slice(1, -1).trimEnd();

export const indented = (code: string): string => code.replaceAll('\n', '\n  ');

/** Omits null and undefined values. */
export const defined = (options: Body): Body =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== null));

/** `body` without these. */
export const without = (body: Body, names: readonly string[]): Body =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));

/** A comment that names the fields that a sample does not send. */
export function leftOut(body: Body, said: readonly string[], library: string): string {
  // Anything that ends a line would end the comment.
  const names = Object.keys(without(body, said)).map((name) =>
    /^[\w.-]+$/.test(name) ? name : JSON.stringify(name).replaceAll(/[\u2028\u2029]/g, ' '),
  );
  return names.length === 0 ? '' : `// Left out, as ${library} has no word for it: ${names.join(', ')}\n`;
}
