import { expect, test } from 'vitest';

import { closing, ending, opening, tagTokens, thinkTags } from '../../../src/chat-template/think-tags.ts';

test.each([
  ["{{ '<think>\n' }}{{ content.split('</think>')[-1] }}", '<think>', '</think>'],
  ["{{ '</thinking>' }}", '<thinking>', '</thinking>'],
  ["{{ '[THINK]' + thoughts + '[/THINK]' }}", '[THINK]', '[/THINK]'],
  ["{{ '<seed:think>' + thoughts + '</seed:think>' }}", '<seed:think>', '</seed:think>'],
  ["{{ '<|thought_start|>' + thought + '<|thought_end|>' }}", '<|thought_start|>', '<|thought_end|>'],
  ["{{ '◁think▷' + thought + '◁/think▷' }}", '◁think▷', '◁/think▷'],
])('takes the tags from the template %s', (template, open, close) => {
  expect(thinkTags(template)).toMatchObject({ open, close });
});

test.each([
  [
    "{{ 'thoughts between <think></think> and response between <response></response>' }}",
    '<think>',
    '<response>',
    '</response>',
  ],
  [
    "{{ content.split('</think>')[-1].split('<answer>')[-1].split('</answer>')[0] }}",
    '<think>',
    '<answer>',
    '</answer>',
  ],
  ["{{ content + '<|extra_0|><think>\n\n</think>\n' }}", '<think>', '<answer>', '</answer>'],
  ["{{ 'Think within <Thought>, answer within <Output>.' }}", '<Thought>', '<Output>', '</Output>'],
  [
    "{{ '<|begin_of_thought|>…<|end_of_thought|> <|begin_of_solution|>…<|end_of_solution|>' }}",
    '<|begin_of_thought|>',
    '<|begin_of_solution|>',
    '<|end_of_solution|>',
  ],
  [
    "{{ '[BEGIN FINAL RESPONSE]…[END FINAL RESPONSE]' }}{{ 'Here are my reasoning steps:\n' }}",
    'Here are my reasoning steps:',
    '[BEGIN FINAL RESPONSE]',
    '[END FINAL RESPONSE]',
  ],
])('takes the tags around thoughts and answer from the template %s', (template, thought, open, close) => {
  const tags = thinkTags(template);
  expect(tags).toMatchObject({ open: thought, answerTags: { open, close } });
  expect(tags && tagTokens(tags)).toEqual(expect.arrayContaining([open, close]));
});

test('a template without a closing tag does not think', () => {
  expect(thinkTags("{{ '<think of a number' }}")).toBeNull();
  expect(thinkTags("{{ '<|channel|>' }}")).toBeNull();
});

test('names the tokens of the tags, and the space that models write beside them', () => {
  const [lines, square] = [thinkTags('</think>'), thinkTags('[/THINK]')];
  const channel = thinkTags('<channel|>');
  if (!lines || !square || !channel) throw new Error('no tags');
  expect(tagTokens(lines)).toEqual(['<think>', '</think>']);
  expect(tagTokens(square)).toEqual(['[THINK]', '[/THINK]']);
  expect(tagTokens(channel)).toEqual(['<|channel>', '<channel|>']);
  expect([opening(lines), ending(lines), closing(lines)]).toEqual([
    '<think>\n',
    '\n</think>\n\n',
    '</think>\n\n',
  ]);
  expect([opening(square), ending(square), closing(square)]).toEqual(['[THINK]', '[/THINK]', '[/THINK]']);
});
