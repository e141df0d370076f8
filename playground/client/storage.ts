import { signal } from '@preact/signals';

export interface StorageState {
  usedBytes: number;
  quotaBytes: number;
  /** Whether the browser promised to keep it when space runs short. */
  persisted: boolean;
}

/** Null if the browser does not report it: WebKitGTK, or an insecure origin. */
export const storage = signal<StorageState | null>(null);

export async function refreshStorage(): Promise<void> {
  if (!('storage' in navigator)) return;
  const { usage = 0, quota = 0 } = await navigator.storage.estimate();
  storage.value = { usedBytes: usage, quotaBytes: quota, persisted: await navigator.storage.persisted() };
}

/** @returns whether the browser agreed; it may ask the user, or decide by how the site is used. */
export async function askToPersist(): Promise<boolean> {
  const granted = await navigator.storage.persist();
  await refreshStorage();
  return granted;
}
