export { ClientText, isBracketed, isControlToken } from './client-text.ts';
export type { SpecialTokens } from './chat-template.ts';
export { templateWorker } from './template-worker.ts';
export * from './prompt-bounds.ts';
export { PromptRenderer, templateFault, TemplateWorker } from './prompt-renderer.ts';
export * from './think-first.ts';
export { tagTokens, thinkTags, type ThinkTags } from './think-tags.ts';
export { withToolCalls } from './tool-call-text.ts';
export { withoutResultMarks } from './without-result-marks.ts';
