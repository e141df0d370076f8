/** What is kept of a key. Times in milliseconds since 1970. */
export interface KeyRecord {
  id: string;
  label: string;
  /** The key itself, where `ensure` keeps it for the page; of other keys only hashes are stored. */
  key?: string;
  /** Hashes of the secrets that open it, for the index: the current one first, then replaced ones in their grace. */
  hashes: string[];
  secrets: { hash: string; validUntil: number | null }[];
  created: number;
  lastUsed: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
  /** Ids that it may use; null: all. */
  models: string[] | null;
  /** No server may answer its requests; absent in older records. */
  deviceOnly?: boolean;
  limits: KeyLimits;
  requests: BucketState;
  tokens: BucketState;
}

/** A bucket of one minute's limit that fills steadily. It is stored, so that a restart changes nothing. */
export interface BucketState {
  /** Below zero: more was used than was reserved. */
  level: number;
  /** When it had that level, in milliseconds since 1970. */
  at: number;
}

export interface KeyLimits {
  requestsPerMinute: number;
  /** Of prompts and replies. An estimate is reserved before a chat runs, and corrected after it. */
  tokensPerMinute: number;
  /** Chats that may run at once. */
  inFlight: number;
}

/** Generous: they stop an app in an endless loop, and no other. */
export const DEFAULT_LIMITS: KeyLimits = { requestsPerMinute: 600, tokensPerMinute: 200_000, inFlight: 64 };
