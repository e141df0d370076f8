import { nameIn } from './locks.ts';

/**
 * Messages that pass a model's files from a page to the engine worker, as references. In the body of a
 * request, the browser would write the files to disk before they could be checked.
 */
type FilesMessage = { type: 'wanted'; ticket: string } | { type: 'given'; ticket: string; files: Blob[] };

const ANSWER_TIMEOUT_MS = 10_000;

const openChannel = (scope: string): BroadcastChannel => new BroadcastChannel(`${nameIn(scope)}:added-files`);

/**
 * Offers files from the page to every engine that asks, since the first may end.
 * @returns a function that stops it
 */
export function offerFiles(scope: string, ticket: string, files: Blob[]): () => void {
  const channel = openChannel(scope);
  channel.onmessage = ({ data }: MessageEvent<FilesMessage | null>) => {
    if (data?.type === 'wanted' && data.ticket === ticket)
      channel.postMessage({ type: 'given', ticket, files } satisfies FilesMessage);
  };
  return () => channel.close();
}

/** Requests the files of a page, in the engine worker. @returns null if no page has them any more */
export async function requestFiles(
  scope: string,
  ticket: string,
  signal: AbortSignal,
): Promise<Blob[] | null> {
  const channel = openChannel(scope);
  const ended = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]);
  try {
    return await new Promise((resolve) => {
      channel.onmessage = ({ data }: MessageEvent<FilesMessage | null>) => {
        if (data?.type === 'given' && data.ticket === ticket) resolve(data.files);
      };
      ended.addEventListener('abort', () => resolve(null));
      channel.postMessage({ type: 'wanted', ticket } satisfies FilesMessage);
    });
  } finally {
    channel.close();
  }
}
