/**
 * Chunks of the engine worker, for rolldown's `codeSplitting`: what several chunks of our sources share is one file. A service
 * worker's installation takes about 10 ms of processor time a file, and a first visit waits for it. The module that imports
 * transformers.js is not in it.
 */
export const workerChunks = {
  groups: [
    {
      name: 'shared',
      test: /^(?!.*node_modules).*[\\/]src[\\/](?!engines[\\/]transformers[\\/]configure)/,
      minShareCount: 2,
    },
  ],
};
