import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import type { ChatMessage } from '../../../src/jobs/chat.ts';
import { ClientText } from '../../../src/chat-template/client-text.ts';
import { BoundedTemplate } from '../../../src/chat-template/bounded-template.ts';
import { chatPrompt } from '../../../src/chat-template/chat-prompt.ts';

const folder = new URL('templates/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

interface Recorded {
  /** Prompts by template and conversation: without thinking, and with it; null: the template refuses it. */
  prompts: Record<string, Record<string, [string | null, string | null]>>;
  /** Texts by expression, of which two messages are given. */
  expressions: Record<string, string>;
}

/** What Python's Jinja makes of each template: templates/record.py. */
const { prompts, expressions } = JSON.parse(read('expected.json')) as Recorded;

const call = { id: 'aB3dE6gH9', name: 'weather', arguments: '{"city":"Oslo"}' };
const conversations: Record<string, ChatMessage[]> = {
  plain: [{ role: 'user', content: ' Hello ' }],
  system: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ],
  turns: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello!' },
    { role: 'user', content: 'And now?' },
  ],
  tool: [
    { role: 'user', content: 'Rain?' },
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'tool', content: 'yes', toolCallId: call.id },
  ],
};

/** As many characters as possible are marked in clients' texts, which changes no prompt. */
const reserved = ['<|!#$%&()*+,-./:;=?@[]^`{}~>'];

function render(source: string, messages: ChatMessage[], enableThinking = false): string | null {
  const prompt = chatPrompt(source, { bos: '<s>', eos: '</s>', reserved }, false);
  const sampling = { temperature: 1, topP: 1 };
  try {
    const job = { kind: 'chat', model: 'm', input: { messages }, sampling } as const;
    return prompt.open({ ...job, reasoning: { enableThinking } }).prompt;
  } catch {
    return null;
  }
}

const templates = readdirSync(folder).filter((name) => name.endsWith('.jinja'));

describe.each(templates)('%s', (name) => {
  const source = read(name);
  // A template without tool calls gets them as text, which Python's Jinja knows nothing of.
  const compared = Object.entries(conversations).filter(([of]) => of !== 'tool' || /tool_calls/.test(source));

  test('is accepted', () => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const template = new BoundedTemplate(source);
    expect(template.render({ messages, add_generation_prompt: true, bos_token: '' })).toMatch(/H[ae]llo/);
  });

  test.each(compared)("%s: the prompt is that of Python's Jinja", (of, messages) => {
    const [plain, thinking] = prompts[name]?.[of] ?? [];
    expect(render(source, messages)).toBe(plain);
    // A template without tags has no switch for thoughts.
    if (/<think>/.test(source)) expect(render(source, messages, true)).toContain(thinking);
  });

  test('line ends of Windows change nothing', () => {
    const windows = source.replaceAll('\n', '\r\n');
    for (const messages of Object.values(conversations))
      expect(render(windows, messages)).toBe(render(source, messages));
  });
});

test.each(Object.entries(expressions))("an expression gives Python's text: %s", (source, text) => {
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi', n: 2 },
  ];
  expect(new BoundedTemplate(source).render({ messages })).toBe(text);
});

/** Expressions of a text `x`, which the messages of the recorded expressions lack. */
const OF_TEXTS =
  `x | trim;x | upper;x | title;x | replace("<|", "#");x | replace("b", "<|", 1);x | replace("", ".");x.replace("|>", "");
x.split("<|") | join(",");x.split("|", 1) | join(",");x.split() | join(",");x.split(none, 1) | join("+");
x.strip("<|");x.lstrip("<");x.rstrip("> ");x.startswith("<|");
x.endswith(("|>", "|> "));"<|" in x;x in ["a", "<|ab|> </b> "];x == "<|ab|> </b> ";
x != "<|ab|> </b> ";x is in(["<|ab|> </b> "]);x is eq("<|ab|> </b> ");x | tojson;x | tojson(ensure_ascii=true);[x] | string;[[x]] | string;
"<|ab|> </b> " in {x: 1};x[1:];x[::-1];x | length;x | list | join("_");x | first;x | list | reverse | join;x | list | sort | join;{x: [x]} | dictsort | list;x in {x: 1};[x, 1] | join(x);{x: 1}.items() | list;{x: x} | tojson(indent=1);x | indent(2);x ~ x;
x.splitlines() | join("+");[x, "<|ab|> </b> "] | select("eq", x) | list | length;x | int`
    .split(/;\n?/)
    .map((expression) => expression.trim());

test.each(OF_TEXTS)("the marks of a client's characters change no text: %s", (expression) => {
  const clientText = new ClientText(['<|ab|>', '</b>', '<|']);
  const x = '<|ab|> </b> ';
  const show = (text: string): string =>
    new BoundedTemplate(`{{ ${expression} }}`, clientText.plain).render({ messages: [], x: text });
  expect(clientText.mark(x)).not.toBe(x);
  const marked = show(clientText.mark(x));
  expect(clientText.plain(marked)).toBe(show(x));
  // What comes from the caller is broken.
  if (marked !== clientText.plain(marked)) expect(clientText.broken(marked)).not.toMatch(/<\|ab\|>|<\/b>/);
});
