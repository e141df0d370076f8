/** Where the store's files lie in the origin private file system. @throws where there is none */
export async function openWeightsFolder(
  options: { create?: boolean } = {},
): Promise<FileSystemDirectoryHandle> {
  let folder = await navigator.storage.getDirectory();
  for (const name of ['localtext', 'weights']) folder = await folder.getDirectoryHandle(name, options);
  return folder;
}
