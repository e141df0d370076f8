import { ratio, type Row } from '../row.ts';
import { CHAT_MODEL, generateThroughV1, openai } from './engines.ts';
import { longText } from './long-text.ts';
import { elapsed } from './once.ts';

type Message = { role: 'user' | 'system' | 'assistant'; content: string };

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

/** Maximum number of tokens of a reply. With few, the rows would compare prompts, which are computed once in both. */
const REPLY = 64;

/** 4 chats with a long common prefix: in turn ÷ together. */
export async function batching(rounds: number): Promise<Row> {
  const inTurn: number[] = [];
  const together: number[] = [];
  const chat = (salt: string, question: number) => () =>
    generateThroughV1(
      [
        { role: 'system', content: `Answer briefly. Ignore this list: ${longText(60, salt)}` },
        { role: 'user', content: `Tell me about the number ${question}.` },
      ],
      REPLY,
    );
  for (let round = 0; round < rounds; round++) {
    inTurn.push(
      await elapsed(async () => {
        for (let i = 1; i <= 4; i++) await chat(`a${round}`, i)();
      }),
    );
    together.push(await elapsed(() => Promise.all([1, 2, 3, 4].map((i) => chat(`b${round}`, i)()))));
  }
  return ratio(
    '4 chats with a long common prefix: in turn ÷ together',
    { 'in turn, ms': inTurn },
    { 'together, ms': together },
    { atLeast: 2 },
  );
}

/** A short chat's first token while 1,500 tokens are prefilled ÷ alone. */
export async function besidePrefill(rounds: number): Promise<Row> {
  const alone: number[] = [];
  const beside: number[] = [];
  const client = await openai();
  const short = (salt: string): Promise<{ firstTokenMs: number }> =>
    generateThroughV1([{ role: 'user', content: `Say hello to ${salt}.` }], 4);
  await short('nobody');
  for (let round = 0; round < rounds; round++) {
    // What was aborted in the round before may hold the engine for another step.
    await short(`Carol ${round}`);
    alone.push((await short(`Alice ${round}`)).firstTokenMs);
    const controller = new AbortController();
    const long = client.chat.completions
      .create(
        {
          model: CHAT_MODEL,
          max_tokens: 1,
          stream: true,
          messages: [{ role: 'user', content: longText(230, `x${round}`) }],
        },
        { signal: controller.signal },
      )
      .then((stream) => drain(stream))
      .catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    beside.push((await short(`Bob ${round}`)).firstTokenMs);
    controller.abort();
    await long;
  }
  return ratio(
    "a short chat's first token beside a prefill of 1,500 tokens ÷ alone",
    { 'beside, ms': beside },
    { 'alone, ms': alone },
    { atMost: 3 },
  );
}

/** The first token of turn 10 ÷ that of the same new tokens as a first turn. */
export async function turns(rounds: number): Promise<Row> {
  const first: number[] = [];
  const tenth: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const messages: Message[] = [];
    // Different from their first words on, so that none is in the cache already.
    const question = (turn: number): string => `${turn} of ${round}: name one animal that lives in the sea.`;
    for (let turn = 1; turn <= 10; turn++) {
      messages.push({ role: 'user', content: question(turn) });
      const { text, firstTokenMs } = await generateThroughV1(messages, 12);
      if (turn === 10) tenth.push(firstTokenMs);
      messages.push({ role: 'assistant', content: text });
    }
    // A later turn also computes the markup that ends the reply before it and begins the next: 5 tokens.
    const asLong = `${question(11)} Then say why, in short.`;
    first.push((await generateThroughV1([{ role: 'user', content: asLong }], 12)).firstTokenMs);
  }
  return ratio(
    "first token of a chat's turn 10 ÷ the same new tokens as a first turn",
    { 'tenth turn, ms': tenth },
    { 'first turn, ms': first },
    { atMost: 1.2 },
  );
}

/** 8 conversations interleaved over 4 slots: prompt tokens computed ÷ new tokens. */
export async function interleaved(rounds: number): Promise<Row> {
  const client = await openai();
  const values: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const conversations: Message[][] = Array.from({ length: 8 }, (_, i) => [
      { role: 'system', content: `You are guide ${i} of round ${round}. ${longText(20, `g${round}${i}`)}` },
    ]);
    const lengths = conversations.map(() => 0);
    let computed = 0;
    let fresh = 0;
    for (let turn = 0; turn < 3; turn++)
      for (const [i, messages] of conversations.entries()) {
        messages.push({ role: 'user', content: `Question ${turn}: what comes next?` });
        const { usage, choices: replies } = await client.chat.completions.create({
          model: CHAT_MODEL,
          messages,
          max_tokens: 8,
          temperature: 0,
        });
        const prompt = usage?.prompt_tokens ?? 0;
        computed += prompt - (usage?.prompt_tokens_details?.cached_tokens ?? 0);
        fresh += prompt - (lengths[i] ?? 0);
        lengths[i] = prompt + (usage?.completion_tokens ?? 0);
        messages.push({ role: 'assistant', content: replies[0]?.message.content ?? '' });
      }
    values.push(computed / fresh);
  }
  return {
    name: '8 conversations interleaved over 4 slots: prompt tokens computed ÷ new tokens',
    unit: 'ratio',
    values,
    goal: { atMost: 1.2 },
  };
}

/** Time to the first token of all four choices ÷ that of one, and four replies in turn ÷ four choices. */
export async function choices(rounds: number): Promise<Row[]> {
  const client = await openai();
  const time = async (n: number, content: string): Promise<{ first: number; all: number }> => {
    const began = performance.now();
    const seen = new Set<number>();
    let first = 0;
    const stream = await client.chat.completions.create({
      model: CHAT_MODEL,
      n,
      stream: true,
      max_tokens: REPLY,
      messages: [{ role: 'user', content }],
    });
    for await (const chunk of stream)
      for (const { index, delta } of chunk.choices) {
        if (delta.content) seen.add(index);
        if (seen.size === n) first ||= performance.now() - began;
      }
    return { first, all: performance.now() - began };
  };
  const one: number[] = [];
  const four: number[] = [];
  const inTurn: number[] = [];
  const together: number[] = [];
  for (let round = 0; round < rounds; round++) {
    one.push((await time(1, longText(60, `one${round}`))).first);
    four.push((await time(4, longText(60, `four${round}`))).first);
    const question = (salt: string): string => `Write a story about animal number ${salt}${round}.`;
    together.push((await time(4, question('a'))).all);
    let total = 0;
    for (let i = 0; i < 4; i++) total += (await time(1, question('b'))).all;
    inTurn.push(total);
  }
  return [
    ratio(
      'n: 4 ÷ n: 1 in time to the first token of all',
      { 'n: 4, ms': four },
      { 'n: 1, ms': one },
      { atMost: 1.5 },
    ),
    ratio(
      'four replies of 64 tokens to one question: in turn ÷ n: 4',
      { 'in turn, ms': inTurn },
      { 'n: 4, ms': together },
      { atLeast: 2 },
    ),
  ];
}
