import { handle } from './localtext.ts';

let known: Promise<string> | null = null;

/** The key that this page asks /v1 with. localtext keeps it, for every tab. */
export async function playgroundKey(): Promise<string> {
  return await (known ?? renewKey());
}

/** Issues a new key after a 401: the old key was revoked, has expired, or its store was cleared. */
export async function renewKey(): Promise<string> {
  const renewed = handle.then(async ({ keys }) => (await keys.ensure({ label: 'Playground' })).key);
  known = renewed;
  renewed.catch(() => {
    if (known === renewed) known = null;
  });
  return await renewed;
}
