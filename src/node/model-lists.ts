import { hubModels, speech, vision } from '#catalog';

/** The lists of models that extend the default catalog; all of their weights come from the model hub. */
export const MODEL_LISTS = [speech, vision, hubModels];
