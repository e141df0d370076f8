import { describe, expect, test, vi } from 'vitest';

import { BoundedTemplate } from '../../../src/chat-template/bounded-template.ts';
import { chatPrompt, type ChatPrompt } from '../../../src/chat-template/chat-prompt.ts';
import type { SpecialTokens } from '../../../src/chat-template/chat-template.ts';
import type { ChatJob, ChatMessage } from '../../../src/jobs/chat.ts';
import { chatJob } from '../../support/chat-job.ts';

const none = { bos: null, eos: null, reserved: [] };
const chatMl = { ...none, chatMl: true };
const user: ChatMessage = { role: 'user', content: 'Hello' };

const open = (prompt: ChatPrompt, messages: ChatMessage[], more: Partial<ChatJob> = {}) =>
  prompt.open(chatJob({ input: { messages }, ...more }));

test('answers an assistant message with a new one, and goes on only from a partial reply', () => {
  const prompt = chatPrompt(null, chatMl, false);
  const messages: ChatMessage[] = [user, { role: 'assistant', content: 'Hi' }];
  expect(open(prompt, messages).prompt).toBe(
    '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nHi<|im_end|>\n<|im_start|>assistant\n',
  );
  expect(open(prompt, [user], { resume: { text: 'Hi th', tokens: 2 } }).prompt).toBe(
    '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nHi th',
  );
});

test('a model without a template and without the tokens of ChatML continues text, and cannot chat', () => {
  const prompt = chatPrompt(null, none, false);
  expect(() => open(prompt, [user])).toThrow(/no chat template.*\/v1\/completions/);
  expect(open(prompt, [], { input: { prompt: 'Once' } }).prompt).toBe('Once');
});

test('gives ids of nine letters and digits to a template that requires them', () => {
  const mistral = `{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id|length != 9 %}{{ raise_exception('ids have length 9') }}{% endif %}{{ c.function.name }} {{ c.id }} {% endfor %}{% if m.role == 'tool' %}{{ m.tool_call_id }}={{ m.content }}{% endif %}{% endfor %}`;
  const turns = (id: string): ChatMessage[] => [
    { role: 'assistant', content: '', toolCalls: [{ id, name: 'weather', arguments: '{}' }] },
    { role: 'tool', content: 'rain', toolCallId: id },
  ];
  const prompt = chatPrompt(mistral, none, false);
  expect(open(prompt, [...turns('call_1'), ...turns('call00000')]).prompt).toBe(
    'weather call00000 call00000=rainweather call00001 call00001=rain',
  );
});

const turn = `{{ m.role + ':' + m.content + ';' }}`;
const turns = `{% for m in messages %}${turn}{% endfor %}`;
const leading =
  "{% if messages[0].role == 'system' %}{{ 'S=' + messages[0].content + ';' }}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}";
const several: ChatMessage[] = [
  { role: 'system', content: 'A' },
  { role: 'system', content: 'B ' },
  user,
  { role: 'assistant', content: 'Hi' },
  { role: 'system', content: 'C' },
  user,
];
const late: ChatMessage[] = [user, { role: 'system', content: 'A' }, user];

test.each([
  [
    'refuses others',
    `${leading}{% for m in rest %}{% if m.role == 'system' %}{{ raise_exception('must be first') }}{% endif %}${turn}{% endfor %}`,
  ],
  ['omits others', `${leading}{% for m in rest %}{% if m.role != 'system' %}${turn}{% endif %}{% endfor %}`],
])('joins system messages at the front for a template that %s', (_, source) => {
  const prompt = chatPrompt(source, none, false);
  expect(open(prompt, several).prompt).toBe('S=A\n\nB \n\nC;user:Hello;assistant:Hi;user:Hello;');
  expect(open(prompt, late).prompt).toBe('S=A;user:Hello;user:Hello;');
});

test('leaves system messages where they are for a template that takes them there', () => {
  const prompt = chatPrompt(turns, none, false);
  expect(open(prompt, several).prompt).toBe(
    'system:A;system:B ;user:Hello;assistant:Hi;system:C;user:Hello;',
  );
  expect(open(prompt, late).prompt).toBe('user:Hello;system:A;user:Hello;');
});

describe('a template without a system role', () => {
  /** Template like Gemma 2's and Mistral 7B's: no system message, and roles alternate. */
  const source = `{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}{% for m in messages %}{% if m.role == 'system' or (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}${turn}{% endfor %}`;
  const prompt = chatPrompt(source, none, false);
  const system: ChatMessage = { role: 'system', content: 'Be brief.' };

  test('gets the system text before the first user message', () => {
    expect(open(prompt, [system, user]).prompt).toBe('user:Be brief.\n\nHello;');
    const again: ChatMessage[] = [system, user, { role: 'assistant', content: 'Hi' }, user];
    expect(open(prompt, again).prompt).toBe('user:Be brief.\n\nHello;assistant:Hi;user:Hello;');
    expect(open(prompt, [system]).prompt).toBe('user:Be brief.;');
    const greeting: ChatMessage[] = [system, { role: 'assistant', content: 'Hi' }, user];
    expect(open(prompt, greeting).prompt).toBe('user:Be brief.;assistant:Hi;user:Hello;');
    expect(open(prompt, late).prompt).toBe('user:A\n\nHello\n\nHello;');
  });

  test('tells of the first refusal where no form is taken', () => {
    const messages: ChatMessage[] = [{ role: 'assistant', content: 'Hi' }, system];
    const refusing = chatPrompt("{{ raise_exception('refuses ' + messages[0].role) }}", none, false);
    expect(() => open(refusing, messages)).toThrow(/refuses assistant/);
  });
});

test('an empty text begins with the first token, or with the last one of a model without', () => {
  const start = (tokens: SpecialTokens, addsBos = false) =>
    open(chatPrompt(null, tokens, addsBos), [], { input: { prompt: '' } }).prompt;
  expect(start({ bos: '<s>', eos: '</s>', reserved: [] })).toBe('<s>');
  expect(start({ bos: null, eos: '</s>', reserved: [] })).toBe('</s>');
  expect(start({ bos: '<s>', eos: '</s>', reserved: [] }, true)).toBe('');
});

test('leaves the first token to the engine that adds it', () => {
  const source = '{{ bos_token }}{% for m in messages %}{{ m.content + eos_token }}{% endfor %}';
  const tokens = { bos: '<s>', eos: '</s>', reserved: [] };
  expect(open(chatPrompt(source, tokens, true), [user]).prompt).toBe('Hello</s>');
  expect(open(chatPrompt(source, tokens, false), [user]).prompt).toBe('<s>Hello</s>');
});

test('gives calls to a template that knows them, and puts them into the text for one that does not', () => {
  const call: ChatMessage = {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' }],
  };
  const result: ChatMessage = { role: 'tool', content: 'rain', toolCallId: 'c1' };
  const source =
    '{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments.city }}){% endfor %}{% if m.role == "tool" %} -> {{ m.content }}{% endif %}{% endfor %}';
  expect(open(chatPrompt(source, none, false), [call, result]).prompt).toBe('weather(Oslo) -> rain');
  const inText = chatPrompt(null, chatMl, false);
  const { prompt: plain, hasResults } = open(inText, [call, result]);
  expect(hasResults).toBe(true);
  expect(open(inText, [call, result], { constraint: { kind: 'json_object' } }).hasResults).toBeFalsy();
  expect(open(inText, [{ role: 'user', content: plain }]).hasResults).toBeFalsy();
  expect(plain).toContain('<tool_call>\n{"name": "weather", "arguments": {"city":"Oslo"}}\n</tool_call>');
  expect(plain).toContain('<|im_start|>user\n<tool_response>\nrain\n</tool_response>');
});

test("puts a tool's result into the text for a template that takes it as a list alone", () => {
  const source =
    '{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% if m.role == "tool" %}{% for document in m.content %}{{ loop.index0 }}: {{ document | tojson }}, {% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}';
  const prompt = chatPrompt(source, none, false);
  const ask = (content: string): string =>
    open(prompt, [
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'weather', arguments: '{}' }] },
      { role: 'tool', content, toolCallId: 'c1' },
    ]).prompt;
  expect(ask('yes, 5 mm')).toContain('<tool_response>\nyes, 5 mm\n</tool_response>');
  // A template may escape a result, or trim it.
  const escaped = chatPrompt(
    '{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{{ m.content | trim | tojson }}{% endfor %}',
    none,
    false,
  );
  const quoted: ChatMessage = { role: 'tool', content: '{"rain": "5\\n"}\n', toolCallId: 'c1' };
  expect(open(escaped, [quoted]).prompt).toBe(JSON.stringify('{"rain": "5\\n"}'));
});

test('a short result is not taken for text that is elsewhere in the prompt', () => {
  const calls =
    '{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments }}{% endfor %}';
  const withoutResults = `{% for m in messages %}${calls}{% if m.role != 'tool' %}{{ m.content }}{% endif %}{% endfor %}`;
  const conversation = (content: string): ChatMessage[] => [
    { role: 'user', content: 'Add 2 and 3 in 2025.' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'add', arguments: '[2,3]' }] },
    { role: 'tool', content, toolCallId: 'c1' },
  ];
  const dropping = chatPrompt(withoutResults, none, false);
  const showing = chatPrompt(`{% for m in messages %}${calls}{{ m.content }};{% endfor %}`, none, false);
  for (const result of ['5', '', '…', 'Add 2 and 3', '[object Map]']) {
    const inText = `<tool_response>\n${result}\n</tool_response>`;
    expect(open(dropping, conversation(result)).prompt).toContain(inText);
    expect(open(showing, conversation(result)).prompt).not.toContain(inText);
  }
});

describe('calls that a template does not take as they are', () => {
  const callsOf = (...cities: string[]): ChatMessage[] => [
    user,
    {
      role: 'assistant',
      content: '',
      toolCalls: cities.map((city, at) => ({
        id: `c${at}`,
        name: 'weather',
        arguments: JSON.stringify({ city }),
      })),
    },
    ...cities.map((city, at): ChatMessage => ({
      role: 'tool',
      content: `${city}: rain`,
      toolCallId: `c${at}`,
    })),
  ];
  const inText = (...cities: string[]): string =>
    cities
      .map((city) => `<tool_call>\n{"name": "weather", "arguments": {"city":"${city}"}}\n</tool_call>`)
      .join('\n');
  const response = (city: string): string => `<tool_response>\n${city}: rain\n</tool_response>`;
  const alternates = `{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}`;
  const toolUse: ChatMessage = { role: 'system', content: 'You can call {"name":"weather"}.' };

  test.each([
    ['no calls', `{% for m in messages %}${alternates}${turn}{% endfor %}`],
    [
      'no calls and no system message',
      `{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}{% for m in messages %}${alternates}${turn}{% endfor %}`,
    ],
  ])('several results are one message of the user where roles alternate: %s', (_, source) => {
    const prompt = chatPrompt(source, none, false);
    const results = `${response('Oslo')}\n\n${response('Rome')}`;
    expect(open(prompt, callsOf('Oslo', 'Rome')).prompt).toBe(
      `user:Hello;assistant:${inText('Oslo', 'Rome')};user:${results};`,
    );
    expect(open(prompt, [...callsOf('Oslo'), user]).prompt).toBe(
      `user:Hello;assistant:${inText('Oslo')};user:${response('Oslo')}\n\nHello;`,
    );
    expect(open(prompt, [toolUse, ...callsOf('Oslo', 'Rome'), user]).prompt).toContain(
      `;user:${results}\n\nHello;`,
    );
  });

  /** Template like Llama 3.2's. */
  const single = `{% for m in messages %}{% if m.tool_calls %}{% if m.tool_calls|length != 1 %}{{ raise_exception('single calls alone') }}{% endif %}{{ m.tool_calls[0].function.name }}({{ m.tool_calls[0].function.arguments|tojson }});{% elif m.role == 'tool' %}ipython:{{ m.content|tojson }};{% else %}${turn}{% endif %}{% endfor %}`;

  test('several calls are in the text for a template that takes one at a time', () => {
    const prompt = chatPrompt(single, none, false);
    expect(open(prompt, [toolUse, ...callsOf('Oslo')]).prompt).toBe(
      `system:${toolUse.content};user:Hello;weather({"city": "Oslo"});ipython:"Oslo: rain";`,
    );
    expect(open(prompt, [toolUse, ...callsOf('Oslo', 'Rome')]).prompt).toBe(
      `system:${toolUse.content};user:Hello;assistant:${inText('Oslo', 'Rome')};user:${response('Oslo')};user:${response('Rome')};`,
    );
  });

  /** Template like DeepSeek-R1-Distill's: calls are written where there is no content. */
  const withoutContent = `{% for m in messages %}{% if m.role == 'assistant' and m.content is none %}{% for c in m.tool_calls %}{{ c.function.name + '=' + c.function.arguments + ';' }}{% endfor %}{% elif m.role == 'assistant' %}{{ 'assistant:' + m.content + ';' }}{% else %}${turn}{% endif %}{% endfor %}`;
  /** Template like functionary's: arguments are joined to a text. */
  const joining = `{% for m in messages %}{% if m.tool_calls %}{% if m.content %}{{ m.content }}{% endif %}{% for c in m.tool_calls %}{{ c.function.name + '=' + c.function.arguments + ';' }}{% endfor %}{% else %}${turn}{% endif %}{% endfor %}`;

  test.each([
    ['is without content', withoutContent],
    ['has its arguments as text', joining],
  ])('a call is in the prompt of a template that writes it where it %s', (_, source) => {
    const prompt = chatPrompt(source, none, false);
    const results = 'tool:Oslo: rain;tool:Rome: rain;';
    expect(open(prompt, [toolUse, ...callsOf('Oslo', 'Rome')]).prompt).toBe(
      `system:${toolUse.content};user:Hello;weather={"city":"Oslo"};weather={"city":"Rome"};${results}`,
    );
  });

  test('a call beside words is in the text where the template would leave it out', () => {
    const messages = callsOf('Oslo').map((message): ChatMessage =>
      message.role === 'assistant' ? { ...message, content: 'I look.' } : message,
    );
    expect(open(chatPrompt(withoutContent, none, false), messages).prompt).toBe(
      `user:Hello;assistant:I look.\n${inText('Oslo')};user:${response('Oslo')};`,
    );
  });
});

test('tells the client why its template refuses the messages', () => {
  const refusing = chatPrompt("{{ raise_exception('roles must alternate') }}", none, false);
  expect(() => open(refusing, [user])).toThrow(/roles must alternate/);
});

describe('a template that thinks', () => {
  const tags = { open: '<think>', close: '</think>' };
  const inside = { tags, isInside: true };
  /** Template like Qwen3's: the model opens the tag itself. */
  const left = chatPrompt(
    "A:{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}",
    none,
    false,
  );
  /** Template like Qwen3.5's. */
  const opened = chatPrompt(
    "A:{{ '<think>\n' if enable_thinking else '<think>\n\n</think>\n\n' }}",
    none,
    false,
  );
  /** Template like DeepSeek-R1's: reasoning cannot be disabled. */
  const always = chatPrompt("A:{{ '<think>\n' }}{# </think> #}", none, false);

  test('thinks when asked, and is within its thoughts from the first token', () => {
    for (const reasoning of [{ effort: 'low' }, { enableThinking: true }] as const) {
      const thinking = { prompt: 'A:<think>\n', thinking: inside };
      expect(open(left, [user], { reasoning })).toEqual(thinking);
      expect(open(opened, [user], { reasoning })).toEqual(thinking);
      expect(open(always, [user], { reasoning })).toEqual(thinking);
    }
  });

  test('does not think unless it is asked to, or does always', () => {
    for (const reasoning of [undefined, { effort: 'none' }, { enableThinking: false }] as const) {
      const job = reasoning ? { reasoning } : {};
      const closed = { prompt: 'A:<think>\n\n</think>\n\n', thinking: { tags, isInside: false } };
      expect(open(left, [user], job)).toEqual(closed);
      expect(open(opened, [user], job)).toEqual(closed);
      expect(open(always, [user], job)).toEqual({ prompt: 'A:<think>\n', thinking: inside });
    }
  });

  test('continues its thoughts, or answers where they have ended', () => {
    const job = { reasoning: { effort: 'low' } } as const;
    const thoughts = { text: 'I add', ended: false };
    expect(open(opened, [user], { ...job, thoughts, resume: { text: '', tokens: 2 } })).toEqual({
      prompt: 'A:<think>\nI add',
      thinking: inside,
    });
    const ended = { ...thoughts, ended: true };
    expect(open(left, [user], { ...job, thoughts: ended, resume: { text: 'Fo', tokens: 9 } })).toEqual({
      prompt: 'A:<think>\nI add\n</think>\n\nFo',
      thinking: null,
    });
    expect(open(opened, [user], { ...job, resume: { text: 'Fo', tokens: 1 } }).thinking).toBeNull();
    // Begun by the model, unasked.
    const never = chatPrompt('A:{# </think> #}', none, false);
    expect(open(never, [user], { thoughts, resume: { text: '', tokens: 2 } })).toEqual({
      prompt: 'A:<think>\nI add',
      thinking: inside,
    });
  });

  test('gives the template the effort; a template without tags ignores it', () => {
    const shown = chatPrompt('{{ reasoning_effort }}', none, false);
    expect(open(shown, [user], { reasoning: { effort: 'high' } })).toEqual({
      prompt: 'high',
      thinking: null,
    });
  });
});

test('a template that knows some efforts alone gets one that it knows', () => {
  const source =
    "{% if reasoning_effort is defined and reasoning_effort not in ['none', 'high'] %}{{ raise_exception('none or high') }}{% endif %}A:{{ reasoning_effort }}";
  const prompt = chatPrompt(source, none, false);
  for (const [effort, told] of [
    ['none', 'none'],
    ['medium', 'high'],
    ['max', 'high'],
  ] as const)
    expect(open(prompt, [user], { reasoning: { effort } }).prompt).toBe(`A:${told}`);
  const plain = chatPrompt(source.replace("['none', 'high']", '[]'), none, false);
  expect(open(plain, [user], { reasoning: { effort: 'none' } }).prompt).toBe('A:');
  const refusing = chatPrompt("{{ raise_exception('no ' ~ reasoning_effort) }}", none, false);
  expect(() => open(refusing, [user], { reasoning: { effort: 'low' } })).toThrow('no low');
});

test.each([
  ['minimal', ['low', 'medium', 'high'], 'low'],
  ['minimal', ['none', 'high'], 'none'],
  ['low', ['medium', 'high'], 'medium'],
  ['medium', ['low'], 'low'],
  ['high', ['low', 'medium'], 'medium'],
  ['xhigh', ['low', 'medium', 'high'], 'high'],
  ['max', ['none'], ''],
] as const)('%s is told as the nearest effort of %j', (effort, known, told) => {
  const source = `{% if reasoning_effort is defined and reasoning_effort not in ${JSON.stringify(known)} %}{{ raise_exception('unknown') }}{% endif %}{{ reasoning_effort }}`;
  const prompt = chatPrompt(source, none, false);
  expect(open(prompt, [user], { reasoning: { effort } }).prompt).toBe(told);
});

test('a prompt is rendered once, and a second time only if the template rejects it or omits a call', () => {
  const renders = vi.spyOn(BoundedTemplate.prototype, 'render');
  const count = (source: string, messages: ChatMessage[], more: Partial<ChatJob> = {}): number => {
    const prompt = chatPrompt(source, none, false);
    renders.mockClear();
    try {
      open(prompt, messages, more);
    } catch {}
    return renders.mock.calls.length;
  };
  const call: ChatMessage = {
    role: 'assistant',
    content: 'I look.',
    toolCalls: [{ id: 'c1', name: 'weather', arguments: '{}' }],
  };
  const result: ChatMessage = { role: 'tool', content: 'rain', toolCallId: 'c1' };
  const efforts = `{% if reasoning_effort is defined and reasoning_effort != 'high' %}{{ raise_exception('high') }}{% endif %}${turns}`;
  expect(count(turns, several)).toBe(1);
  expect(count(turns, [user, call, result])).toBe(1);
  expect(count(efforts, [user], { reasoning: { effort: 'low' } })).toBe(1);
  expect(count(`${turns}{{ raise_exception('never') }}`, several)).toBe(2);
  const omitting = `{% for m in messages %}{% if m.tool_calls and not m.content %}{{ m.tool_calls[0].function.name }}{% endif %}{{ m.content }}{% endfor %}`;
  expect(count(omitting, [user, call, result])).toBe(2);
  renders.mockRestore();
});

test('a refused effort is told of where the template takes too long without it', () => {
  const source =
    "{% if reasoning_effort is defined %}{{ raise_exception('no ' ~ reasoning_effort) }}{% endif %}{% for i in range(99999) %}{% endfor %}";
  const prompt = chatPrompt(source, none, false);
  expect(() => open(prompt, [user], { reasoning: { effort: 'low' } })).toThrow(/no low/);
  expect(() => open(prompt, [user])).toThrow(/range\(\) has more than/);
});

test('an answer in tags goes on where its thoughts have ended', () => {
  const prompt = chatPrompt('A:{# </think> <answer></answer> #}', none, false);
  const thoughts = { text: '<think>\nI add', ended: true };
  expect(open(prompt, [user], { thoughts, resume: { text: 'Fo', tokens: 9 } })).toMatchObject({
    thinking: { isInside: false, tags: { answerTags: { close: '</answer>' } } },
  });
});

test('a template that thinks without known tags is not told to think', () => {
  const unknown = chatPrompt("{{ '<|think|>' if enable_thinking }}A:", none, false);
  const reasoning = { effort: 'high' } as const;
  expect(open(unknown, [user], { reasoning })).toEqual({ prompt: 'A:', thinking: null });
});

test('a template that thinks in a channel, as Gemma 4 does', () => {
  const source = "{{ '<|think|>' if enable_thinking }}{# <|channel> … <channel|> #}A:";
  const prompt = chatPrompt(source, none, false);
  const tags = { open: '<|channel>thought', close: '<channel|>' };
  expect(open(prompt, [user], { reasoning: { effort: 'high' } })).toEqual({
    prompt: '<|think|>A:<|channel>thought\n',
    thinking: { tags, isInside: true },
  });
  expect(open(prompt, [user])).toEqual({ prompt: 'A:', thinking: { tags, isInside: false } });
});

test('a template in the harmony format is refused', () => {
  const source = "{{ '<|start|>assistant<|channel|>final<|message|>' }}";
  expect(() => chatPrompt(source, none, false)).toThrow(/harmony/);
});

test("a template's own system message stays", () => {
  const source =
    "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\nYou are SmolLM<|im_end|>\n' }}{% endif %}{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}";
  const prompt = chatPrompt(source, none, false);
  const own = '<|im_start|>user\nHello<|im_end|>\n';
  expect(open(prompt, [user]).prompt).toBe(`<|im_start|>system\nYou are SmolLM<|im_end|>\n${own}`);
  const system: ChatMessage = { role: 'system', content: 'Be brief.' };
  expect(open(prompt, [system, user]).prompt).toBe(`<|im_start|>system\nBe brief.<|im_end|>\n${own}`);
});

test('a template that takes one message alone gets the system text in it', () => {
  const single = chatPrompt(
    "{% if messages | length > 1 %}{{ raise_exception('one only') }}{% endif %}{{ messages[0].content }}",
    none,
    false,
  );
  expect(open(single, [{ role: 'system', content: 'Be brief.' }, user]).prompt).toBe('Be brief.\n\nHello');
});

test('numbers of arguments keep their text, and keys their order', () => {
  const json = '{"id":2512292042121000001,"2":1.0,"1":[1e3,2512292042121000002],"plain":7}';
  const call: ChatMessage = {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: 'c1', name: 'f', arguments: json }],
  };
  const ask = (written: string, given = call): string =>
    open(
      chatPrompt(
        `{% for m in messages %}{% for c in m.tool_calls or [] %}${written}{% endfor %}{{ m.content }}{% endfor %}`,
        none,
        false,
      ),
      [given, { role: 'tool', content: '', toolCallId: 'c1' }],
    ).prompt;
  const name = '{{ c.function.name }}';
  expect(ask(`${name}{{ c.function.arguments | tojson }}`)).toBe(
    'f{"id": 2512292042121000001, "2": 1.0, "1": [1e3, 2512292042121000002], "plain": 7}',
  );
  expect(
    ask(
      `${name}{% for k, v in c.function.arguments | items %}{{ k }}={{ v if v is string else v | tojson }};{% endfor %}`,
    ),
  ).toBe('fid=2512292042121000001;2=1.0;1=[1e3, 2512292042121000002];plain=7;');
  // Some templates quote texts, and only texts.
  expect(
    ask(
      `${name}{% for k, v in c.function.arguments | items %}{% if v is string %}"{{ v }}"{% elif v is number and v > 1 %}{{ v }}>1{% elif v is float %}{{ v ~ '' }}{% endif %};{% endfor %}`,
    ),
  ).toBe('f2512292042121000001>1;1.0;;7>1;');
  const id = 'c.function.arguments.id | default(0)';
  expect(ask(`${name}{{ ${id} ~ "" }} "{{ ${id} }}" {{ ${id} | string | tojson }}`)).toBe(
    'f2512292042121000001 "2512292042121000001" "2512292042121000001"',
  );
  const list = 'c.function.arguments["1"] | default([1, 2])';
  expect(
    ask(`${name}{{ (${id}) == (${id}) }} {{ (${id}) in (${list}) }} {{ (${list})[1] in (${list}) }}`),
  ).toBe('fTrue False True');
  // One that computes with them gets calls as text.
  expect(ask(`${name}{{ (${id}) // 1000 }}`)).toContain('"id":2512292042121000001');
  expect(ask(`${name}{{ c.function | tojson | tojson }}`)).toContain(
    String.raw`{\"id\": 2512292042121000001, \"2\": 1.0`,
  );
  // Deeper than the stack is.
  const deep = '['.repeat(5000) + ']'.repeat(5000);
  const deeper = { ...call, toolCalls: [{ id: 'c1', name: 'f', arguments: deep }] };
  expect(ask(`${name}{{ c.function.arguments | tojson }}`, deeper)).toContain(deep);
});

test("a client's text is no marker of an image", () => {
  const reserved = ['<__media__>', '<fake_token_around_image>'];
  const prompt = chatPrompt('{{ messages[0].content }}', { ...none, reserved }, false);
  const content = 'a<__media__>b<fake_token_around_image>';
  const images = [{ at: 1, url: '/a', param: '' }];
  const job = chatJob({ input: { messages: [{ role: 'user', content, images }] } });
  expect(prompt.open(job, '<__media__>').prompt).toBe('a<__media__>< __media__>b< fake_token_around_image>');
});

test('puts a marker into the place of each image', () => {
  const images = [
    { at: 0, url: '/a', param: '' },
    { at: 3, url: '/b', param: '' },
    { at: 3, url: '/c', param: '' },
  ];
  const prompt = chatPrompt('{% for m in messages %}{{ m.content }};{% endfor %}', none, false);
  const job = chatJob({ input: { messages: [{ role: 'user', content: 'onetwo', images }, user] } });
  expect(prompt.open(job, '<image>').prompt).toBe('<image>one<image><image>two;Hello;');
});
