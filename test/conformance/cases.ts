import { chatCases } from './chat-cases.ts';
import type { ConformanceCase } from './conformance-case.ts';
import { completionCases } from './completion-cases.ts';
import { decisionCases } from './decision-cases.ts';
import { embeddingCases } from './embedding-cases.ts';
import { rerankCases } from './rerank-cases.ts';
import { responseCases } from './response-cases.ts';
import { serviceCases } from './service-cases.ts';
import { speechCases } from './speech-cases.ts';
import { toolCases } from './tool-cases.ts';
import { transcriptionCases } from './transcription-cases.ts';
import { unknownValueCases } from './unknown-value-cases.ts';

/** All that /v1 must hold to, whatever runs it. */
export const cases: ConformanceCase[] = [
  ...serviceCases,
  ...chatCases,
  ...toolCases,
  ...responseCases,
  ...completionCases,
  ...embeddingCases,
  ...rerankCases,
  ...decisionCases,
  ...transcriptionCases,
  ...speechCases,
  ...unknownValueCases,
];
