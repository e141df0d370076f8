export { browserV1, type V1 } from './browser-v1.ts';
