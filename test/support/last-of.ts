/** The last value of an iterable. */
export async function lastOf<T>(values: AsyncIterable<T>): Promise<T> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  const last = all.at(-1);
  if (last === undefined) throw new Error('there was no value');
  return last;
}
