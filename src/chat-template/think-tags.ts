/** Tags that a model writes around its reasoning. */
export interface ThinkTags {
  open: string;
  close: string;
  /** Space after the opening tag, and before and after the closing tag. Default: line breaks. */
  space?: 'none';
  /** Tags that the model may write around its answer. */
  answerTags?: { open: string; close: string };
  /** Whether a request can open the reasoning although the template has no switch for it. */
  isAsked?: true;
}

/** Tags of Gemma 4. */
const CHANNEL: ThinkTags = { open: '<|channel>thought', close: '<channel|>' };

/** Tags of Magistral and of Ministral's reasoning models. */
const BRACKETS: ThinkTags = { open: '[THINK]', close: '[/THINK]', space: 'none', isAsked: true };

/** Whether the model writes gpt-oss's harmony format, whose channels this library does not read. */
export const isHarmony = (template: string): boolean =>
  template.includes('<|channel|>') && template.includes('<|message|>');

/** Tags other than `<think>` and `<thinking>`. */
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

/** Finds the tags in a chat template; null if the model does not reason. */
export function thinkTags(template: string): ThinkTags | null {
  const other = OTHERS.find(
    ({ open, close, answerTags }) =>
      template.includes(close) ||
      (answerTags && template.includes(open) && template.includes(answerTags.open)),
  );
  if (other) return other;
  const name = /<\/(think(?:ing)?)>/.exec(template)?.[1];
  if (name === undefined) return null;
  // Hunyuan's templates may omit the answer tags that its models write.
  const answer = template.includes('<|extra_0|>') ? 'answer' : /<\/(answer|response)>/.exec(template)?.[1];
  const answerTags = { open: `<${answer}>`, close: `</${answer}>` };
  return { open: `<${name}>`, close: `</${name}>`, ...(answer !== undefined && { answerTags }) };
}

/** Lists the control tokens in the tags. Engines omit control tokens from the text unless they are listed. */
export function tagTokens({ open, close, answerTags }: ThinkTags): string[] {
  const tags = [open, close, ...(answerTags ? [answerTags.open, answerTags.close] : [])];
  const parts = tags.map((tag) => tag.match(/<[^<>\s]+>|\[[^[\]]+\]|◁[^◁▷]+▷/g) ?? []);
  return [...new Set(parts.flat())];
}

/** Opening tag with the space after it. */
export const opening = ({ open, space }: ThinkTags): string => (space ? open : `${open}\n`);

/** Closing tag with the space after it. */
export const closing = ({ close, space }: ThinkTags): string => (space ? close : `${close}\n\n`);

/** Closing tag for reasoning whose trailing space is not written yet. */
export const ending = (tags: ThinkTags): string => (tags.space ? '' : '\n') + closing(tags);
