/** What befalls one stored file of three chunks, and how many of them are fetched again. */
export interface StoredFault {
  name: string;
  damage:
    | { kind: 'flip'; at: number }
    | { kind: 'truncate'; to: number }
    | { kind: 'delete'; what: 'file' | 'record' }
    | { kind: 'record'; text: (record: string) => string }
    /** Bytes and records of two files. */
    | { kind: 'swap' };
  chunksFetched: number;
}

const otherHashes = (record: string): string => {
  const { chunks, ...rest } = JSON.parse(record) as { chunks: string[] };
  return JSON.stringify({ ...rest, chunks: chunks.toReversed() });
};

export const storedFaults: StoredFault[] = [
  { name: 'a flipped bit', damage: { kind: 'flip', at: 5_000_000 }, chunksFetched: 1 },
  { name: 'a file cut short', damage: { kind: 'truncate', to: 4_500_000 }, chunksFetched: 2 },
  { name: 'a file that is gone', damage: { kind: 'delete', what: 'file' }, chunksFetched: 3 },
  { name: 'two files swapped', damage: { kind: 'swap' }, chunksFetched: 3 },
  { name: 'a record that is gone', damage: { kind: 'delete', what: 'record' }, chunksFetched: 0 },
  { name: 'a record that is junk', damage: { kind: 'record', text: () => '{"chunks":[1' }, chunksFetched: 0 },
  { name: 'a record that is empty', damage: { kind: 'record', text: () => '' }, chunksFetched: 0 },
  { name: 'a record of other bytes', damage: { kind: 'record', text: otherHashes }, chunksFetched: 0 },
];
