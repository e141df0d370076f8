import { fileURLToPath } from 'node:url';

/** Path of a file of the clone. This folder is as deep as dist/node, where the package has this code. */
export const repositoryFile = (path: string): string =>
  fileURLToPath(new URL(`../../${path}`, import.meta.url));
