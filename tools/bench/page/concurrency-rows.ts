import { growthRow } from '../growth.ts';
import { inTurn, ratio, summarize, type Row } from '../row.ts';
import { arrivals } from './beside-load.ts';
import { CHAT_MODEL, ENDLESS, engineThreads, generateThroughV1, openai } from './engines.ts';
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
  const chat = (salt: string, question: number) =>
    generateThroughV1(
      [
        { role: 'system', content: `Answer briefly. Ignore this list: ${longText(60, salt)}` },
        { role: 'user', content: `Tell me about the number ${question}.` },
      ],
      REPLY,
      ENDLESS,
    );
  const questions = [1, 2, 3, 4];
  const figures = await inTurn(rounds, {
    'in turn, ms': (round) =>
      elapsed(async () => {
        for (const question of questions) await chat(`a${round}`, question);
      }),
    'together, ms': (round) =>
      elapsed(() => Promise.all(questions.map((question) => chat(`b${round}`, question)))),
  });
  return ratio('4 chats with a long common prefix: in turn ÷ together', figures, { atLeast: 2 });
}

/** A short chat's first token while 1,500 tokens are prefilled ÷ alone. */
export async function besidePrefill(rounds: number): Promise<Row> {
  const client = await openai();
  const short = async (salt: string): Promise<number> =>
    (await generateThroughV1([{ role: 'user', content: `Say hello to ${salt}.` }], 4)).firstTokenMs;
  const beside = async (round: number): Promise<number> => {
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
    const firstTokenMs = await short(`Bob ${round}`);
    controller.abort();
    await long;
    return firstTokenMs;
  };
  await short('nobody');
  const figures = await inTurn(rounds, {
    'beside, ms': beside,
    'alone, ms': async (round) => {
      // What was aborted before may hold the engine for another step.
      await short(`Carol ${round}`);
      return short(`Alice ${round}`);
    },
  });
  return ratio("a short chat's first token beside a prefill of 1,500 tokens ÷ alone", figures, { atMost: 3 });
}

/** The first token of turn 10 ÷ that of the same new tokens as a first turn. */
export async function turns(rounds: number): Promise<Row> {
  // Different from their first words on, so that none is in the cache already.
  const question = (turn: number, round: number): string =>
    `${turn} of ${round}: name one animal that lives in the sea.`;
  const tenth = async (round: number): Promise<number> => {
    const messages: Message[] = [];
    for (let turn = 1; ; turn++) {
      messages.push({ role: 'user', content: question(turn, round) });
      const { text, firstTokenMs } = await generateThroughV1(messages, 12);
      if (turn === 10) return firstTokenMs;
      messages.push({ role: 'assistant', content: text });
    }
  };
  const figures = await inTurn(rounds, {
    'tenth turn, ms': tenth,
    'first turn, ms': async (round) => {
      // A later turn also computes the markup that ends the reply before it and begins the next: 5 tokens.
      const content = `${question(11, round)} Then say why, in short.`;
      return (await generateThroughV1([{ role: 'user', content }], 12)).firstTokenMs;
    },
  });
  return ratio("first token of a chat's turn 10 ÷ the same new tokens as a first turn", figures, {
    atMost: 1.2,
  });
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
  const firsts = { 'n: 4, ms': [] as number[], 'n: 1, ms': [] as number[] };
  const totals = { 'in turn, ms': [] as number[], 'n: 4, ms': [] as number[] };
  for (let round = 0; round < rounds; round++) {
    firsts['n: 1, ms'].push((await time(1, longText(60, `one${round}`))).first);
    firsts['n: 4, ms'].push((await time(4, longText(60, `four${round}`))).first);
    const question = (salt: string): string => `Write a story about animal number ${salt}${round}.`;
    totals['n: 4, ms'].push((await time(4, question('a'))).all);
    let inAll = 0;
    for (let i = 0; i < 4; i++) inAll += (await time(1, question('b'))).all;
    totals['in turn, ms'].push(inAll);
  }
  return [
    ratio('n: 4 ÷ n: 1 in time to the first token of all', firsts, { atMost: 1.5 }),
    ratio('four replies of 64 tokens to one question: in turn ÷ n: 4', totals, { atLeast: 2 }),
  ];
}

/** Measures the worst of 4 chats at once: the longest gap between two tokens ÷ the median gap. */
export async function gaps(rounds: number): Promise<Row> {
  const client = await openai();
  const gapsOf = async (content: string): Promise<number[]> => {
    const times = await arrivals(client, 32, [{ role: 'user', content }]);
    return times.slice(1).map((time, index) => time - (times[index] ?? time));
  };
  const questions = ['red', 'green', 'blue', 'black'].map(
    (colour) => `Write a story about a ${colour} bird.`,
  );
  const longest: number[] = [];
  const median: number[] = [];
  // The first round loads the prompts into the cache.
  for (let round = 0; round <= rounds; round++) {
    const [worst] = (await Promise.all(questions.map(gapsOf)))
      .map(summarize)
      .toSorted((a, b) => b.max / b.median - a.max / a.median);
    if (!worst || round === 0) continue;
    longest.push(worst.max);
    median.push(worst.median);
  }
  return ratio(
    '4 chats at once: the longest gap between two tokens of a chat ÷ its median gap',
    { 'longest, ms': longest, 'median, ms': median },
    { atMost: 3 },
  );
}

/** Chats of one token, all at once. */
export async function inFlight(rounds: number): Promise<Row> {
  const client = await openai();
  await engineThreads();
  const ask = (content: string) =>
    client.chat.completions.create({
      model: CHAT_MODEL,
      max_tokens: 1,
      messages: [{ role: 'user', content }],
    });
  await ask('0?');
  const points = [1, 4, 16, 64].map((x) => ({ x, values: [] as number[] }));
  for (let round = 0; round < rounds; round++)
    for (const { x, values } of points) {
      const questions = Array.from({ length: x }, (_, i) => `${i}+${x}?`);
      values.push(await elapsed(() => Promise.all(questions.map(ask))));
    }
  return growthRow('growth: requests in flight, 1 to 64', points);
}
