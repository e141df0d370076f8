import { useRef } from 'preact/hooks';
import { seeingModels } from '../client/models.ts';
import { Icon } from '../components/icon.tsx';
import { PICTURE_TYPES } from '../pictures/picture.ts';
import { pictureProblem, takePictures } from './draft-pictures.ts';
import { sendProblem } from './send.ts';

/** Chooses pictures, or says which model accepts them. Renders nothing if no model does. */
export function PictureButton() {
  const input = useRef<HTMLInputElement>(null);
  if (seeingModels.value.length === 0) return null;
  const problem = pictureProblem.value;
  return (
    <>
      <button
        type="button"
        class={`icon-button ${problem === null ? '' : 'composer-unavailable'}`}
        aria-label="Add pictures"
        title={problem ?? 'Add pictures. They can be pasted and dropped too'}
        onClick={() => {
          sendProblem.value = problem;
          if (problem === null) input.current?.click();
        }}
      >
        <Icon name="picture" />
      </button>
      <input
        ref={input}
        hidden
        multiple
        type="file"
        accept={PICTURE_TYPES.join(',')}
        onChange={({ currentTarget }) => {
          takePictures(currentTarget.files);
          // Reset the input, so that the same file can be chosen again.
          currentTarget.value = '';
        }}
      />
    </>
  );
}
