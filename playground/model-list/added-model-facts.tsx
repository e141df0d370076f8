import type { AddedModel } from '../../src/index.ts';
import { bytes, count } from '../format.ts';
import { VectorFacts } from './vector-facts.tsx';
import { Fact } from '../components/fact.tsx';

export function AddedModelFacts({
  name,
  architecture,
  quantization,
  contextLength,
  bytes: size,
  embedding,
}: AddedModel) {
  return (
    <>
      <Fact name="Weights">
        {name} <span class="quiet small">added by you</span>
      </Fact>
      <Fact name="Architecture">
        {architecture}, {quantization}
      </Fact>
      <Fact name="Size">{bytes(size)}</Fact>
      <Fact name="Context">{count(contextLength)} tokens</Fact>
      {embedding && <VectorFacts {...embedding} />}
    </>
  );
}
