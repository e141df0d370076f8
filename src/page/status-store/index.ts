/**
 * The state of localtext as a store with `subscribe`, for any user interface library.
 * @module localtext/store
 */

export { createStore, type LocaltextStore } from './localtext-store.ts';
export { showModel, type ShowModelOptions } from './show-model.ts';
export { showUpdate, type ShowUpdateOptions } from './show-update.ts';
export type { LocaltextState, ModelState } from './state.ts';
