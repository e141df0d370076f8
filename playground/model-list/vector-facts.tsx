import type { AddedModel } from '../../src/index.ts';

const POOLINGS = { mean: 'the mean of all tokens', cls: 'the first token', last_token: 'the last token' };

/** How an embedding model makes its vectors. */
export function VectorFacts({ dimensions, pooling }: NonNullable<AddedModel['embedding']>) {
  return (
    <>
      <dt>Vectors</dt>
      <dd>
        {dimensions} dimensions, from {POOLINGS[pooling]}
      </dd>
    </>
  );
}
