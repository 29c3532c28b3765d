// The last action that can be undone; one at a time.
import { create } from "zustand";

export interface Toast {
  // "board deleted"
  text: string;
  undo: () => void;
}

export const useToast = create<{ toast: Toast | null }>(() => ({ toast: null }));

export const offerUndo = (toast: Toast): void => useToast.setState({ toast });
export const forgetToast = (): void => useToast.setState({ toast: null });
