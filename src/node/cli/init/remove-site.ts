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
import { checkReplaceable } from './own-folder.ts';

/** Removes the built files, and puts a service worker in the place of localtext's that removes it from visitors' browsers. */
export async function removeSite(folder: string, what: string): Promise<void> {
  await checkReplaceable(folder);
  const script = await readFile(packageFile(`${STATIC_FOLDER}/${REMOVAL_WORKER}`), 'utf8');
  const removal = `self.__LOCALTEXT_REMOVE__=${JSON.stringify(what)};\n${script}`;
  await makeWritableFolder(folder);
  await rm(join(folder, 'localtext'), { recursive: true, force: true });
  const scripts = { [SERVICE_WORKER]: removal, [SERVICE_WORKER_IMPORT]: removal, [OWN_FILES]: '' };
  for (const [name, text] of Object.entries(scripts)) await replaceFile(join(folder, name), text);
}
