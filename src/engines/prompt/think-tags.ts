import type { Reasoning } from '../../jobs/chat.ts';

/** Tags that a model writes around its reasoning. */
export interface ThinkTags {
  open: string;
  close: string;
  /** Space that the model writes after the opening tag, and before and after the closing one. Default: lines. */
  space?: 'none';
  /** Opens an answer without thoughts, where the model requires it. */
  answer?: string;
  /** Tags that the model may write around its answer. */
  answerTags?: { open: string; close: string };
  /** Whether a request opens the thoughts, though the template has no switch for them. */
  isAsked?: true;
}

/** Tags of Gemma 4. */
const CHANNEL: ThinkTags = { open: '<|channel>thought', close: '<channel|>' };

/** Tags of Magistral and of Ministral's reasoning models. */
const BRACKETS: ThinkTags = { open: '[THINK]', close: '[/THINK]', space: 'none', isAsked: true };

/** The messages of a reply in the harmony format of gpt-oss. */
const HARMONY: ThinkTags = {
  open: '<|channel|>analysis<|message|>',
  close: '<|end|><|start|>assistant<|channel|>final<|message|>',
  space: 'none',
  answer: '<|channel|>final<|message|>',
  isAsked: true,
};

export const isHarmony = ({ open }: ThinkTags): boolean => open === HARMONY.open;

type Effort = NonNullable<Reasoning['effort']>;

/** The efforts that gpt-oss was trained on. */
const HARMONY_EFFORTS: Partial<Record<Effort, Effort>> = {
  none: 'low',
  minimal: 'low',
  xhigh: 'high',
  max: 'high',
};

/** The effort that a template is given. */
export const toldEffort = (tags: ThinkTags | null, effort: Effort): Effort =>
  (tags && isHarmony(tags) && HARMONY_EFFORTS[effort]) || effort;

/** Tags that are not `<think>` or `<thinking>`. */
const OTHERS: ThinkTags[] = [
  CHANNEL,
  BRACKETS,
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>', space: 'none' },
  { open: '<|inner_prefix|>', close: '<|inner_suffix|>', space: 'none' },
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '<thought>', close: '</thought>' },
  { open: '<|thought_start|>', close: '<|thought_end|>' },
  { open: '◁think▷', close: '◁/think▷', space: 'none' },
  {
    open: '<|begin_of_thought|>',
    close: '<|end_of_thought|>',
    answerTags: { open: '<|begin_of_solution|>', close: '<|end_of_solution|>' },
  },
  { open: '<Thought>', close: '</Thought>', answerTags: { open: '<Output>', close: '</Output>' } },
  {
    open: 'Here are my reasoning steps:',
    close: '[BEGIN FINAL RESPONSE]',
    answerTags: { open: '[BEGIN FINAL RESPONSE]', close: '[END FINAL RESPONSE]' },
  },
];

/** The tags in the text of a chat template; null: the model does not think. */
export function thinkTags(template: string): ThinkTags | null {
  if (template.includes('<|channel|>') && template.includes('<|message|>')) return HARMONY;
  const other = OTHERS.find(
    ({ open, close, answerTags }) =>
      template.includes(close) ||
      (answerTags && template.includes(open) && template.includes(answerTags.open)),
  );
  if (other) return other;
  const name = /<\/(think(?:ing)?)>/.exec(template)?.[1];
  if (name === undefined) return null;
  // Hunyuan's templates may leave out the tags that its models write.
  const answer = template.includes('<|extra_0|>') ? 'answer' : /<\/(answer|response)>/.exec(template)?.[1];
  const answerTags = { open: `<${answer}>`, close: `</${answer}>` };
  return { open: `<${name}>`, close: `</${name}>`, ...(answer !== undefined && { answerTags }) };
}

/** Tokens that the tags are, or are made of. Engines write no control tokens unless they are told to. */
export function tagTokens({ open, close, answerTags }: ThinkTags): string[] {
  const tags = [open, close, ...(answerTags ? [answerTags.open, answerTags.close] : [])];
  const parts = tags.map((tag) => tag.match(/<[^<>\s]+>|\[[^[\]]+\]|◁[^◁▷]+▷/g) ?? []);
  return [...new Set(parts.flat())];
}

/** The opening tag, with the space after it. */
export const opening = ({ open, space }: ThinkTags): string => (space ? open : `${open}\n`);

/** The closing tag, with the space after it. */
export const closing = ({ close, space }: ThinkTags): string => (space ? close : `${close}\n\n`);

/** The closing tag after thoughts that do not end with their space. */
export const ending = (tags: ThinkTags): string => (tags.space ? '' : '\n') + closing(tags);
