/** Bytes that this site may store, and bytes that it uses. Null: the browser does not say. */
export async function estimateStorage(): Promise<{ quotaBytes: number; usedBytes: number } | null> {
  try {
    const { quota, usage = 0 } = await navigator.storage.estimate();
    return quota === undefined ? null : { quotaBytes: quota, usedBytes: usage };
  } catch {
    return null;
  }
}

/** Bytes that this site may still store. Null: the browser does not say. */
export async function freeBytes(): Promise<number | null> {
  const estimate = await estimateStorage();
  return estimate && estimate.quotaBytes - estimate.usedBytes;
}
