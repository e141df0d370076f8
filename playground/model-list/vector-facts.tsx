import type { AddedModel } from '../../src/index.ts';
import { Fact } from '../components/fact.tsx';

const POOLINGS = { mean: 'the mean of all tokens', cls: 'the first token', last_token: 'the last token' };

/** How an embedding model makes its vectors. */
export function VectorFacts({ dimensions, pooling }: NonNullable<AddedModel['embedding']>) {
  return (
    <Fact name="Vectors">
      {dimensions} dimensions, from {POOLINGS[pooling]}
    </Fact>
  );
}
