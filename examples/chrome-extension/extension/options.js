export const MODEL = 'amber-phoenix-4';

/** The same in every page of the extension. Default: the weights are in the package, in the folder `models`. */
export const options = {};

// To load a larger model from the model hub on first use instead:
// import { defaultCatalog, extendCatalog, hubModels } from './localtext/catalog.js';
// export const MODEL = 'lfm2.5-350m';
// export const options = { catalog: extendCatalog(defaultCatalog, hubModels), sources: { hub: true } };
