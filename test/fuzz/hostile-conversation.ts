import type { ChatJob, ChatMessage } from '../../src/jobs/chat.ts';
import type { Random } from '../chaos/random.ts';

const PIECES = [
  'a',
  ' ',
  '\n',
  '{',
  '{% generation %}',
  '<|im_end|>',
  '<think>',
  '\u0000',
  '\u{1F468}\u200D',
  'İ',
];
const LENGTHS = [0, 1, 30, 5000, 100_000];
const ARGS = ['{}', '', '[', '"a"', '{"a":{"a":{"a":[1,2,{"b":null}]}}}', `{"k":"${'a'.repeat(20_000)}"}`];
const EFFORTS = ['none', 'low', 'high'] as const;

function text(random: Random): string {
  const piece = random.pick(PIECES);
  return piece.repeat(Math.ceil(random.pick(LENGTHS) / piece.length));
}

function message(random: Random): ChatMessage {
  const content = text(random);
  const toolCalls = Array.from({ length: random.pick([1, 2, 40]) }, (_, index) => ({
    id: random.pick(['call_1', `call_${index}`, '', 'a'.repeat(64)]),
    name: random.pick(['f', 'a', 'content', '__proto__', 'f'.repeat(64)]),
    arguments: random.pick(ARGS),
  }));
  return random.pick<ChatMessage>([
    { role: 'system', content },
    { role: 'user', content },
    { role: 'user', content, name: 'a' },
    { role: 'assistant', content },
    { role: 'assistant', content, toolCalls },
    { role: 'tool', content, toolCallId: 'call_1' },
  ]);
}

/** A conversation of few long or many short messages in any order, with calls of tools, thoughts and a reply to go on with. */
export function hostileConversation(random: Random): ChatJob {
  const count = random.pick([1, 1, 2, 3, 10, 200]);
  const messages = Array.from({ length: count }, () => message(random));
  return {
    kind: 'chat',
    model: '',
    input: { messages: count < 100 ? messages : messages.map((each) => ({ ...each, content: 'a' })) },
    sampling: { temperature: 1, topP: 1 },
    ...(random.below(2) === 0 && {
      reasoning: { effort: random.pick(EFFORTS), enableThinking: random.below(2) === 0 },
    }),
    ...(random.below(4) === 0 && { thoughts: { text: text(random), ended: random.below(2) === 0 } }),
    ...(random.below(4) === 0 && { resume: { text: text(random), tokens: 1 } }),
  };
}
