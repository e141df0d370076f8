import type { AddedModel, ModelDetails } from '../../src/index.ts';
import { Fact } from '../components/fact.tsx';
import { bytes, count } from '../format.ts';

const POOLINGS = { mean: 'the mean of all tokens', cls: 'the first token', last_token: 'the last token' };

/** Facts from the header of a model's file. */
export function FileFacts({ details }: { details: AddedModel | ModelDetails }) {
  const { architecture, quantization, contextLength, embedding } = details;
  const trainedLength = 'trainedContextLength' in details ? details.trainedContextLength : contextLength;
  return (
    <>
      <Fact name="Architecture">
        {architecture}, {quantization}
      </Fact>
      <Fact name="Size">{bytes(details.bytes)}</Fact>
      <Fact name="Context">
        {count(contextLength)} tokens
        {contextLength < trainedLength && (
          <span class="quiet small"> of {count(trainedLength)} that it was trained on</span>
        )}
      </Fact>
      {embedding && (
        <Fact name="Vectors">
          {embedding.dimensions} dimensions, from {POOLINGS[embedding.pooling]}
        </Fact>
      )}
    </>
  );
}
