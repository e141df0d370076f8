import { handle } from './localtext.ts';

const STORAGE_KEY = 'localtext-playground:key';
let issuing: Promise<string> | null = null;

/** The key that this page asks /v1 with: its own, issued on first use and kept. */
export async function playgroundKey(): Promise<string> {
  return localStorage.getItem(STORAGE_KEY) ?? (await issueAgain());
}

/** After a 401: the old key was revoked, has expired, or its store was cleared. */
export async function issueAgain(): Promise<string> {
  issuing ??= issue().finally(() => {
    issuing = null;
  });
  return await issuing;
}

async function issue(): Promise<string> {
  const { keys } = await handle;
  const { key } = await keys.issue({ label: 'Playground' });
  localStorage.setItem(STORAGE_KEY, key);
  return key;
}
