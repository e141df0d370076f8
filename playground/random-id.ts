/** A random id, also on a page that is not secure: it has no `crypto.randomUUID()`, and must still say why nothing works. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
