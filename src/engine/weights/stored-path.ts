/** What is kept under `pathNote`: which stored file lies at a path of the models folder. */
export interface StoredPath {
  sha256: string;
  bytes: number;
}

/** Name of the note that leads from a path to its bytes; beside it, a receipt says that they are whole. */
export async function pathNote(path: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(path)));
  return `path-${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

export const receiptName = (sha256: string): string => `${sha256}.json`;
