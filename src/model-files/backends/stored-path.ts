import { sha256 } from '../../util/sha256.ts';

/** What is kept under `pathNote`: which stored file lies at a path of the models folder. */
export interface StoredPath {
  sha256: string;
  bytes: number;
}

/** Name of the note that leads from an app's path to its bytes; beside it, a record says that they are whole. */
export async function pathNote(scope: string, path: string): Promise<string> {
  return `path-${await hashText(scope === '/' ? path : `${scope}\n${path}`)}`;
}

/** Apps of one origin share the files, not what each one remembers of its models. */
export async function noteOf(scope: string, name: string): Promise<string> {
  return scope === '/' ? name : `${name}@${(await hashText(scope)).slice(0, 16)}`;
}

const hashText = (text: string): Promise<string> => sha256(new TextEncoder().encode(text));
