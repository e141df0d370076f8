import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import {
  OWN_FILES,
  packageFile,
  REMOVAL_WORKER,
  SERVICE_WORKER,
  SERVICE_WORKER_IMPORT,
  STATIC_FOLDER,
} from '../../package-files.ts';
import { makeWritableFolder, replaceFile } from '../../files.ts';
import { ownFilesScript } from '../../site-files.ts';
import { checkReplaceable } from './own-folder.ts';

/**
 * Removes the built files, and replaces localtext's service worker by one that removes it from visitors'
 * browsers.
 */
export async function removeSite(folder: string, what: string): Promise<void> {
  await checkReplaceable(folder);
  const script = await readFile(packageFile(`${STATIC_FOLDER}/${REMOVAL_WORKER}`), 'utf8');
  await makeWritableFolder(folder);
  await rm(join(folder, 'localtext'), { recursive: true, force: true });
  for (const [name, text] of Object.entries(removalScripts(script, what)))
    await replaceFile(join(folder, name), text);
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
    [OWN_FILES]: ownFilesScript({ shell: [], large: [] }),
  };
}
