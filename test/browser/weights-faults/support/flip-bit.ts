import type { Page } from 'playwright';

/** Changes a bit of the stored file with this hash, behind the library's back, after its engine has ended. */
export const flipBit = (page: Page, hash: string, at: number): Promise<void> =>
  page.evaluate(
    async ([name, position]) => {
      await (await window.localtext).stop();
      let folder = await navigator.storage.getDirectory();
      for (const each of ['localtext', 'weights']) folder = await folder.getDirectoryHandle(each);
      const file = await folder.getFileHandle(name);
      const [byte = 0] = new Uint8Array(await (await file.getFile()).slice(position).arrayBuffer());
      const out = await file.createWritable({ keepExistingData: true });
      await out.write({ type: 'write', position, data: new Uint8Array([byte ^ 1]) });
      await out.close();
    },
    [hash, at] as const,
  );
