import { useSignal } from '@preact/signals';

/**
 * Handlers for an element that takes what is dropped on it, and a class while something is held over it.
 * @param filesOnly leaves dropped texts to the browser
 */
export function useDrop(take: (dropped: DataTransfer) => void, filesOnly = true) {
  const over = useSignal(false);
  const takenFrom = ({ dataTransfer }: DragEvent): DataTransfer | null =>
    !filesOnly || dataTransfer?.types.includes('Files') ? dataTransfer : null;
  const handlers = {
    onDragOver: (event: DragEvent) => {
      if (!takenFrom(event)) return;
      event.preventDefault();
      over.value = true;
    },
    onDragLeave: () => void (over.value = false),
    onDrop: (event: DragEvent) => {
      over.value = false;
      const dropped = takenFrom(event);
      if (!dropped) return;
      // The browser would open the file.
      event.preventDefault();
      take(dropped);
    },
  };
  return { handlers, overClass: over.value ? 'drop-zone-over' : '' };
}
