import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

import {
  OWN_FILES,
  packageFile,
  REMOVAL_WORKER,
  SERVICE_WORKER,
  SERVICE_WORKER_IMPORT,
  STATIC_FOLDER,
} from '../../package-files.ts';
import { noFiles, ownFilesScript } from '../../site-files.ts';
import { replaceMade } from '../../made-files.ts';
import { CommandError } from '../arguments.ts';
import { shown } from '../output.ts';

/**
 * Removes the built files, and replaces localtext's service worker by one that removes it from visitors'
 * browsers.
 * @returns the built files that were changed since, which stay
 * @throws CommandError if a file is in the way, or the folder does not exist
 */
export async function removeSite(folder: string, what: string): Promise<string[]> {
  const script = await readFile(packageFile(`${STATIC_FOLDER}/${REMOVAL_WORKER}`), 'utf8');
  const scripts = new Map(Object.entries(removalScripts(script, what)));
  // A folder is not made: visitors would go on with the service worker of the one that was meant.
  if (!existsSync(folder))
    throw new CommandError(`${shown(folder)} does not exist. Name the folder that the site is served from.`);
  return replaceMade(folder, scripts);
}

/**
 * Scripts in the place of localtext's, by name.
 * @param script bundle of `sw/remove.ts`
 */
export function removalScripts(script: string, what: string): Record<string, string> {
  // The script itself says which one it is: a site may copy the first one to the name of the site's service
  // worker.
  const removal = (imported: boolean): string =>
    `self.__LOCALTEXT_REMOVE__=${JSON.stringify(what)};self.__LOCALTEXT_IMPORTED__=${imported};\n${script}`;
  return {
    [SERVICE_WORKER]: removal(false),
    [SERVICE_WORKER_IMPORT]: removal(true),
    [OWN_FILES]: ownFilesScript(noFiles()),
  };
}
