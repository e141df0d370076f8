import { createHash } from 'node:crypto';

/** The id of an unpacked extension: the first digits of the hash of its path, as letters. */
export const extensionId = (path: string): string =>
  createHash('sha256')
    .update(path)
    .digest('hex')
    .slice(0, 32)
    .replaceAll(/./g, (digit) => String.fromCodePoint(97 + Number.parseInt(digit, 16)));
