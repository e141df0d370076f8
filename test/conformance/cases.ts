import { chatCases } from './chat-cases.ts';
import type { ConformanceCase } from './conformance-case.ts';
import { embeddingCases } from './embedding-cases.ts';
import { serviceCases } from './service-cases.ts';

/** All that /v1 must hold to, whatever runs it. */
export const cases: ConformanceCase[] = [...serviceCases, ...chatCases, ...embeddingCases];
