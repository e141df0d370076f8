import { useRef } from 'preact/hooks';
import { seeingModels } from '../client/models.ts';
import { FileInput } from '../components/file-input.tsx';
import { IconButton } from '../components/icon-button.tsx';
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
      <IconButton
        class={`icon-button ${problem === null ? '' : 'composer-unavailable'}`}
        icon="picture"
        label="Add pictures"
        title={problem ?? 'Add pictures. They can be pasted and dropped too'}
        onClick={() => {
          sendProblem.value = problem;
          if (problem === null) input.current?.click();
        }}
      />
      <FileInput ref={input} multiple accept={PICTURE_TYPES.join(',')} onFiles={takePictures} />
    </>
  );
}
