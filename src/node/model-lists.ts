import { hubModels } from '../catalog/hub-models.ts';
import { speech } from '../catalog/speech-models.ts';
import { vision } from '../catalog/vision-models.ts';

/** The lists of models that extend the default catalog; all of their weights come from the model hub. */
export const MODEL_LISTS = [speech, vision, hubModels];
