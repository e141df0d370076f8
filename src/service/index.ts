export { followSignals, type ClientWatch } from './http/exchange.ts';
export { EventStream } from './http/response.ts';
export { catalogDirectory } from './model-list/models.ts';
export { createService, type Service } from './service.ts';
