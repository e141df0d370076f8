import type { Page } from 'playwright';

import type { StoredFault } from '../../../support/stored-faults.ts';

const TOKENIZER = 'f068f4c4a4337d192ac66f5da92f5d1076180a6cb0bea63b13814c4ef97409f5';

/** Changes what is stored of the file with this hash, behind the library's back, after its engine has ended. */
export async function damage(page: Page, hash: string, fault: StoredFault['damage']): Promise<void> {
  const text = fault.kind === 'record' ? fault.text(await readRecord(page, hash)) : '';
  await page.evaluate(
    async ([kind, at, record, file, other]) => {
      await (await window.localtext).stop();
      let folder = await navigator.storage.getDirectory();
      for (const name of ['localtext', 'weights']) folder = await folder.getDirectoryHandle(name);
      const bytesOf = async (name: string) =>
        (await (await folder.getFileHandle(name)).getFile()).arrayBuffer();
      const change = async (name: string, work: (out: FileSystemWritableFileStream) => Promise<void>) => {
        const out = await (await folder.getFileHandle(name)).createWritable({ keepExistingData: true });
        await work(out);
        await out.close();
      };
      const put = (name: string, bytes: ArrayBuffer | string) =>
        change(name, async (out) => {
          await out.truncate(0);
          await out.write(bytes);
        });
      const swap = async (one: string, two: string) => {
        const bytes = await bytesOf(one);
        await put(one, await bytesOf(two));
        await put(two, bytes);
      };
      if (kind === 'flip') {
        const byte = new Uint8Array(await bytesOf(file))[at] ?? 0;
        await change(file, (out) =>
          out.write({ type: 'write', position: at, data: new Uint8Array([byte ^ 1]) }),
        );
      }
      if (kind === 'truncate') await change(file, (out) => out.truncate(at));
      if (kind === 'file') await folder.removeEntry(file);
      if (kind === 'no record') await folder.removeEntry(`${file}.json`);
      if (kind === 'record') await put(`${file}.json`, record);
      if (kind === 'swap') {
        await swap(file, other);
        await swap(`${file}.json`, `${other}.json`);
      }
    },
    [...described(fault), text, hash, TOKENIZER] as const,
  );
}

function described(fault: StoredFault['damage']): [kind: string, at: number] {
  if (fault.kind === 'delete') return [fault.what === 'file' ? 'file' : 'no record', 0];
  if (fault.kind === 'flip') return [fault.kind, fault.at];
  return [fault.kind, fault.kind === 'truncate' ? fault.to : 0];
}

const readRecord = (page: Page, hash: string): Promise<string> =>
  page.evaluate(async (name) => {
    let folder = await navigator.storage.getDirectory();
    for (const each of ['localtext', 'weights']) folder = await folder.getDirectoryHandle(each);
    return (await (await folder.getFileHandle(name)).getFile()).text();
  }, `${hash}.json`);
