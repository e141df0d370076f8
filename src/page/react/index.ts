/**
 * Hooks for React 18 and newer.
 * @module localtext/react
 */

export { LocaltextProvider, ModelLoad, UpdateNotice, useLocaltext, useModel, type Model } from './hooks.ts';
export type { LocaltextState, LocaltextStore, ModelState } from '../status-store/index.ts';
