import { computed, signal } from '@preact/signals';
import { announce } from '../announce.ts';
import { seeingModels } from '../client/models.ts';
import { plural } from '../format.ts';
import { problemOf } from '../problem.ts';
import { MAX_PICTURES, type Picture } from '../pictures/picture.ts';
import { settings, turns } from './chat-state.ts';
import { picturesOf } from './conversation.ts';
import { sendProblem } from './send.ts';

/** Pictures of the message being written. They are kept while another view is shown. */
export const draftPictures = signal<Picture[]>([]);

/** Why the chosen model accepts no pictures, and which one does. Null if it accepts them. */
export const pictureProblem = computed(() => {
  const { model } = settings.value;
  const seeing = seeingModels.value;
  if (seeing.includes(model)) return null;
  if (seeing.length === 0) return 'No model here takes pictures. The Models view adds one.';
  return `${model} takes no pictures. Choose ${seeing.join(' or ')}.`;
});

/** Adds the pictures among the files to the message. @returns whether there are any */
export function takePictures(files: Iterable<File> | null | undefined): boolean {
  const pictures = [...(files ?? [])].filter(({ type }) => type.startsWith('image/'));
  if (pictures.length === 0) return false;
  sendProblem.value = pictureProblem.value;
  if (pictureProblem.value === null) void addPictures(pictures);
  return true;
}

async function addPictures(files: File[]): Promise<void> {
  try {
    const { toPicture } = await import('../pictures/to-picture.ts');
    for (const file of files) {
      const picture = await toPicture(file);
      const kept = [...turns.value.flatMap(picturesOf), ...draftPictures.value];
      if (kept.length >= MAX_PICTURES)
        throw new Error(`A conversation may have ${plural(MAX_PICTURES, 'picture')}. Begin another one.`);
      draftPictures.value = [...draftPictures.value, picture];
      announce(`${picture.name} added.`);
    }
  } catch (error) {
    sendProblem.value = problemOf(error);
  }
}
