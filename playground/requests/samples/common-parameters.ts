const words = (text: string): string[] => text.split(' ');

/** Parameters of a chat that every library writes in its own terms, or sets itself. */
export const BASIC_PARAMETERS = words(
  'model messages stream stream_options temperature top_p max_tokens max_completion_tokens',
);

/** Parameters that the libraries of chats with tools write in their own terms, too. */
export const COMMON_PARAMETERS = [
  ...BASIC_PARAMETERS,
  ...words('stop presence_penalty frequency_penalty tools tool_choice'),
];
