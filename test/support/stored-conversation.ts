/** A conversation of a question and a reply, as the playground stores and imports it; the id is its title too. */
export function storedConversation(
  id: string,
  content: string,
  chosen: Record<string, string> = { '': 'a', a: 'b' },
): object {
  const stats = {
    firstTokenMs: 210,
    totalMs: 2000,
    promptTokens: 31,
    cachedTokens: 0,
    completionTokens: 99,
    tokensPerSecond: 47,
    fingerprint: null,
  };
  const reply = {
    model: 'amber-phoenix-4',
    problem: null,
    finishReason: 'stop',
    toolCalls: [],
    logprobs: [],
    stats,
  };
  const turns = {
    a: { id: 'a', parent: null, createdAt: 1, content: 'Question', role: 'user' },
    b: { id: 'b', parent: 'a', createdAt: 2, content, role: 'assistant', ...reply },
  };
  return { id, title: id, createdAt: 1, updatedAt: 2, turns, chosen };
}
