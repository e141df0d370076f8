export { ENGINES } from './registry.ts';
