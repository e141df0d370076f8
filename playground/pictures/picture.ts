/** A picture of a message. */
export interface Picture {
  /** Name of its file, for display. */
  name: string;
  blob: Blob;
}

/** Maximum number of pictures in a conversation: the service's limit for a request, since a conversation is sent whole. */
export const MAX_PICTURES = 16;
/** Maximum size of a stored picture: 16 of them fit into a request in base64. */
export const MAX_PICTURE_BYTES = 1_400_000;

/** Maximum length of the longer side of a stored picture. The engine shrinks images to it, too. */
export const MAX_SIDE = 2048;

export const PICTURE_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
