import { sha256 } from './sha256.ts';

/** What is kept under `pathNote`: which stored file lies at a path of the models folder. */
export interface StoredPath {
  sha256: string;
  bytes: number;
}

/** Name of the note that leads from a path to its bytes; beside it, a receipt says that they are whole. */
export async function pathNote(path: string): Promise<string> {
  return `path-${await sha256(new TextEncoder().encode(path))}`;
}
