import { computed } from '@preact/signals';
import { route } from '../router.ts';
import { CHAT, VIEWS } from '../views.tsx';

/** An unknown or empty hash shows the chat. */
export const currentView = computed(() => VIEWS.find(({ name }) => name === route.value.view) ?? CHAT);
