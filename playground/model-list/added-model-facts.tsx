import type { AddedModel } from '../../src/index.ts';
import { bytes, count } from '../format.ts';
import { VectorFacts } from './vector-facts.tsx';

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
      <dt>Weights</dt>
      <dd>
        {name} <span class="quiet small">added by you</span>
      </dd>
      <dt>Architecture</dt>
      <dd>
        {architecture}, {quantization}
      </dd>
      <dt>Size</dt>
      <dd>{bytes(size)}</dd>
      <dt>Context</dt>
      <dd>{count(contextLength)} tokens</dd>
      {embedding && <VectorFacts {...embedding} />}
    </>
  );
}
